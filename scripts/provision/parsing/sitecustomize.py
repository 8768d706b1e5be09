"""Imported by each Python that begins while messages are compiled (steps.py puts this folder in PYTHONPATH).

Six generators of ROS 2 parse every interface file, a tenth of a second each time: here the first one does,
and keeps what it found in the folder FLEXDYN_PARSED for the others.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from pathlib import Path
from typing import Any


def parse_once(parser: Any, folder: Path) -> None:
    """Let `rosidl_parser.parser.parse_idl_string` look into the folder first."""
    parse = parser.parse_idl_string

    def parsed(idl_string: str, png_file: str | None = None) -> Any:
        kept = folder / hashlib.sha256(idl_string.encode()).hexdigest()
        try:
            return pickle.loads(kept.read_bytes())
        except FileNotFoundError:
            pass
        found = parse(idl_string, png_file)
        # generators run beside each other: none of them sees half a file
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_bytes(pickle.dumps(found))
        part.replace(kept)
        return found

    parser.parse_idl_string = parsed


try:
    from rosidl_parser import parser
except ImportError:  # not of the environment that has the generators
    pass
else:
    parse_once(parser, Path(os.environ["FLEXDYN_PARSED"]))
