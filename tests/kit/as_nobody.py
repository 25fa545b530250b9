"""Run one command without rights: ``as_nobody.py FOLDER UID ARGUMENT …``.

Python itself may lie where nobody else may read, so everything that a release needs is imported,
by making one, before the rights are dropped.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from kit.command import crowdtally
from kit.town import Town


def main() -> None:
    folder, uid, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as elsewhere:
        warm = Town.build(Path(elsewhere))
        os.chdir(warm.folder)
        ledger = str(warm.ledger)
        crowdtally("ledger", "create", "warm", "--epsilon", "1", "--ledger", ledger)
        ended = crowdtally(*warm.arguments(ledger=ledger, dataset="warm"))
        assert ended.code == 0, str(ended)
        os.chdir(folder)
    os.setgroups([])
    os.setgid(int(uid))
    os.setuid(int(uid))
    ended = crowdtally(*arguments)
    print(ended.out, end="")
    print(ended.err, end="", file=sys.stderr)
    sys.exit(ended.code)


if __name__ == "__main__":
    main()
