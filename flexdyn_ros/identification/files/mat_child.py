"""The program that reads one MAT file; run in a process of its own, it imports nothing of this package.

SciPy's reader trusts the lengths in a file: a wrong byte may end its process. The request is one line of JSON
on standard input, the answer one JSON object on standard output; numbers go, as float64, to an open file.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

#: variables, fields and cells of a file, and how deep they may lie in each other
_MOST, _DEEPEST = 10_000, 32


class Refused(Exception):
    """The file holds more than is accepted."""


class Found:
    """Arrays of numbers that go to the file, and why others do not."""

    def __init__(self, file: Any, most_bytes: int) -> None:
        self.arrays: list[tuple[str, list[int]]] = []
        self.left_out: dict[str, str] = {}
        self._file, self._left, self._most = file, most_bytes, most_bytes
        self._seen = 0

    def take(self, name: str, value: Any) -> None:
        """A variable and all that lies in it, without recursion."""
        import numpy as np

        waiting = [(name, value, 0)]
        while waiting:
            name, value, depth = waiting.pop()
            self._seen += 1
            if self._seen > _MOST:
                raise Refused(f"holds more than {_MOST} variables and fields")
            kind = type(value).__name__
            if kind in ("MatlabOpaque", "MatlabFunction"):
                self.left_out[name] = "an object of MATLAB, expected numbers (struct(...) makes them of it)"
            elif not isinstance(value, np.ndarray | np.generic):
                self.left_out[name] = "a sparse matrix" if hasattr(value, "tocsc") else f"of type {kind}"
            elif value.dtype.names is not None or value.dtype.kind == "O":
                inside = _inside(name, np.asarray(value))
                if depth >= _DEEPEST or len(waiting) + len(inside) > _MOST:
                    raise Refused(f"holds more than {_MOST} fields, or {_DEEPEST} structs in each other")
                waiting += [(own, part, depth + 1) for own, part in reversed(inside)]
            elif value.dtype.kind not in "fiub":
                self.left_out[name] = "text" if value.dtype.kind in "US" else "complex numbers"
            else:
                self._keep(name, value)

    def _keep(self, name: str, value: Any) -> None:
        import numpy as np

        array = np.asarray(value)
        self._left -= 8 * array.size + 100
        if self._left < 0:
            raise Refused(f"holds more than {self._most} bytes")
        self.arrays.append((name, list(array.shape)))
        self._file.write(np.ascontiguousarray(array, dtype="<f8").tobytes())


def _inside(name: str, value: Any) -> list[tuple[str, Any]]:
    """Fields of a struct (array), or cells, by their names."""
    if value.size > _MOST:
        raise Refused(f"holds more than {_MOST} variables and fields")
    places = [""] if value.size == 1 else [f"[{i}]" for i in range(value.size)]
    parts = zip(places, value.ravel(order="F"), strict=True)
    if value.dtype.names is None:
        return [(f"{name}{place}", part) for place, part in parts]
    return [(f"{name}{place}.{field}", part[field]) for place, part in parts for field in part.dtype.names]


def read(request: dict[str, Any]) -> dict[str, Any]:
    """What is in the file that was asked for."""
    from scipy.io import loadmat, whosmat

    with os.fdopen(request["output"], "wb") as file:
        found = Found(file, request["most_bytes"])
        try:
            content = loadmat(request["file"])
        except (Refused, MemoryError, NotImplementedError):
            raise
        except Exception:  # noqa: BLE001  one variable may be of a kind that the reader does not know
            content = {}
            for name, *_ in whosmat(request["file"])[:_MOST]:
                try:
                    content |= loadmat(request["file"], variable_names=[name])
                except Exception as error:  # noqa: BLE001
                    found.left_out[name] = f"cannot be read: {type(error).__name__}: {str(error)[:80]}"
        for name, value in content.items():
            if not name.startswith("__"):
                found.take(name, value)
    return {"arrays": found.arrays, "left_out": found.left_out}


def main() -> None:
    """Answer one request."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    request = json.loads(sys.stdin.buffer.readline())
    sys.path[:0] = request["path"]
    try:
        answer = read(request)
    except Refused as error:
        answer = {"refused": str(error)}
    except NotImplementedError:
        answer = {"refused": "is a MAT file of version 7.3, expected one up to 7: save it with '-v7'"}
    except MemoryError:
        answer = {"refused": "takes more memory than is accepted"}
    except Exception as error:  # noqa: BLE001  the reader runs into anything
        answer = {"refused": f"is no MAT file: {type(error).__name__}: {str(error)[:200]}"}
    json.dump(answer, answers)
    answers.flush()
    # nothing of what the file may have broken is cleaned up
    os._exit(0)


if __name__ == "__main__":
    main()
