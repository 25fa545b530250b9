"""A bare application for ``bench/serve.py``: Starlette and DuckDB, and nothing else.

``python bench/bare.py EDGES TEMPLATE`` listens on a free port of loopback, prints its address and
answers ``/sum.json?where=hour BETWEEN a AND b``: the fields of TEMPLATE, an answer of
``crowdtally serve``, with the sum and the number of cells that DuckDB finds in the table. It checks
nothing: what its requests cost is what any server of this kind costs.
"""

from __future__ import annotations

import json
import re
import socket
import sys
from pathlib import Path

import duckdb
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

edges, template = sys.argv[1], json.loads(Path(sys.argv[2]).read_text("utf-8"))
database = duckdb.connect()


def answer(request: Request) -> JSONResponse:
    """One sum; Starlette runs it in a thread."""
    found = re.fullmatch(r"hour BETWEEN (\d) AND (\d)", request.query_params["where"])
    if found is None:
        return JSONResponse({}, 400)
    query = f"SELECT sum(count), count(*) FROM '{edges}' WHERE hour BETWEEN ? AND ?"
    (row,) = database.cursor().execute(query, [int(found[1]), int(found[2])]).fetchall()
    return JSONResponse(template | {"value": int(row[0]), "cells": row[1]})


with socket.create_server(("127.0.0.1", 0)) as listening:
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
    settings = uvicorn.Config(Starlette(routes=[Route("/sum.json", answer)]), log_level="critical")
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/", flush=True)
    uvicorn.Server(settings).run(sockets=[listening])
