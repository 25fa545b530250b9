"""The Parquet files of a look-alike; both say in their metadata that they are made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally_research.lookalikes.making import Maker
from crowdtally_research.lookalikes.statistics import Statistics

MADE_UP = (
    "Made up: these records are nobody's. Only their numbers follow what papers print of real data."
)
_ROW_GROUP = 1 << 19


def write_items(path: Path, numbers: Statistics) -> None:
    """The public list, in the order of the numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    listed = pa.table({"item_id": np.arange(1, numbers.items + 1, dtype=np.int32)})
    with path.open("xb") as sink:
        pq.write_table(listed.replace_schema_metadata(_told()), sink)


def write_records(path: Path, maker: Maker, say: Callable[[str], None]) -> None:
    """All records, a block in memory at a time; ``say`` is told how far it has come."""
    import pyarrow.parquet as pq

    total = maker.numbers.records
    written = 0
    schema = _schema(maker)
    with path.open("xb") as sink, pq.ParquetWriter(
        sink, schema, compression="snappy", use_dictionary=["item_id", *maker.contexts],
        column_encoding={"record_id": "DELTA_BINARY_PACKED", "user_id": "PLAIN"},
    ) as writer:  # fmt: skip
        for block in maker.blocks():
            table = _table(schema, maker, block, written)
            writer.write_table(table, row_group_size=_ROW_GROUP)
            written += len(table)
            say(f"making {total:,} records, {written * 100 // total}% done")


def _told() -> dict[str, str]:
    return {"crowdtally": MADE_UP}


def _schema(maker: Maker) -> Any:
    import pyarrow as pa

    columns = {"record_id": pa.int64(), "user_id": pa.int32(), "item_id": pa.int32()}
    coded = {name: pa.dictionary(pa.int8(), pa.string()) for name in maker.contexts}
    return pa.schema({**columns, **coded}, metadata=_told())


def _table(schema: Any, maker: Maker, block: dict[str, NDArray[Any]], first: int) -> Any:
    import pyarrow as pa

    rows = len(block["user_id"])
    columns = {"record_id": pa.array(np.arange(first, first + rows, dtype=np.int64))}
    for name, column in block.items():
        array = pa.array(column)
        if name in maker.contexts:
            array = pa.DictionaryArray.from_arrays(array, pa.array(maker.contexts[name]))
        columns[name] = array
    return pa.table(columns, schema=schema)
