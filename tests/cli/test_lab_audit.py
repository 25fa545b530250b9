"""``crowdtally lab audit`` and ``lab audit-request``, as a stranger types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally import lab
from crowdtally.curator.publishing import dense
from crowdtally.errors import UsageError
from crowdtally.lab.auditing.rows import ABOUT
from kit.command import run
