"""C text of functions that are given as graphs.

Every node becomes a constant, or a part of the one expression that uses it. Long functions are cut into
pieces that compilers are quick with; what goes from one to another lies in the work memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from flexdyn_ros.export.c_code.dialects import Scalars
from flexdyn_ros.export.tracing.equations import Function
from flexdyn_ros.numerics.tracing.graph import CALL, CONSTANT, INPUT, RESULT, Graph

#: operations that a side must have for a branch to be worth it
LEAST = 16
#: who needs a node: the side where the condition holds, the other, nobody
_TRUE, _FALSE, _NONE = 1, 2, 0


class Branch(NamedTuple):
    """Selects by one condition whose sides are computed apart.

    selects: those whose values are read outside, in order; sides: for the true and the false one the nodes
    that only it needs, in order; inner: selects that only the sides read, and are one of their arguments.
    """

    condition: int
    selects: tuple[int, ...]
    sides: tuple[tuple[int, ...], tuple[int, ...]]
    inner: tuple[int, ...]

    def reads(self, graph: Graph) -> Iterator[int]:
        """Nodes outside that it reads."""
        own = {*self.sides[0], *self.sides[1], *self.inner}
        yield self.condition
        for i in (*self.selects, *own):
            yield from (j for j in graph.arguments(i) if j not in own)


def branches_of(graph: Graph, order: Sequence[int], results: Sequence[int]) -> list[Branch]:
    """The branches of the nodes that are needed; no node is in two of them."""
    users: dict[int, list[int]] = {}
    selects: dict[int, list[int]] = {}
    for i in order:
        for j in graph.arguments(i):
            users.setdefault(j, []).append(i)
        if graph.nodes[i][0] == "select":
            selects.setdefault(graph.nodes[i][1], []).append(i)
    taken, ends, found = set[int](), set(results), []
    for condition, chosen in selects.items():
        branch = _branch(graph, condition, chosen, users, ends)
        own = () if branch is None else (*branch.selects, *branch.sides[0], *branch.sides[1], *branch.inner)
        if branch is not None and taken.isdisjoint(own):
            taken |= set(own)
            found.append(branch)
    return found


def _branch(
    graph: Graph, condition: int, chosen: list[int], users: Mapping[int, list[int]], ends: set[int]
) -> Branch | None:
    """The branch by a condition; None if little depends on it, or its order does not allow it."""
    needs = _needs(graph, chosen, users, ends)
    inner = tuple(i for i in chosen if i in needs)
    outer = tuple(i for i in chosen if i not in needs)
    sides = [tuple(sorted(i for i, x in needs.items() if x == s and i not in inner)) for s in (_TRUE, _FALSE)]
    if not outer or max(map(len, sides)) < LEAST:
        return None
    branch = Branch(condition, outer, (sides[0], sides[1]), inner)
    return branch if max(branch.reads(graph)) < outer[0] else None


def _needs(
    graph: Graph, chosen: Sequence[int], users: Mapping[int, list[int]], ends: set[int]
) -> dict[int, int]:
    """Nodes that one side only needs, from the selects backwards."""
    selects, found = set(chosen), dict[int, int]()
    waiting = [-i for i in chosen]
    heapify(waiting)
    seen = set(chosen)
    while waiting:
        i = -heappop(waiting)
        who = _NONE
        for user in users.get(i, ()):
            who |= _use(graph, i, user, selects, found)
        is_free = i not in ends and graph.nodes[i][0] not in (CALL, CONSTANT, INPUT, RESULT)
        if who in (_TRUE, _FALSE) and is_free:
            found[i] = who
        elif i not in selects:
            continue
        for j in graph.arguments(i):
            if j not in seen:
                seen.add(j)
                heappush(waiting, -j)
    return found


def _use(graph: Graph, i: int, user: int, selects: set[int], found: Mapping[int, int]) -> int:
    """Which sides need a node for the sake of a user."""
    both = _TRUE | _FALSE
    if user not in selects:
        return found.get(user, both)
    condition, a, b = graph.nodes[user][1:]
    if i == condition:
        return both
    asked = found.get(user, both)
    return (asked & _TRUE if i == a else _NONE) | (asked & _FALSE if i == b else _NONE)


#: statements of a piece, and how deep expressions nest
PIECE, DEPTH = 400, 4
_CONDITIONS = frozenset({"lt", "le", "eq", "and", "or", "not"})


class Text(NamedTuple):
    """C functions.

    pieces: their definitions; calls: statements that call them one after the other; work: numbers of work
    memory.
    """

    pieces: list[str]
    calls: list[str]
    work: int


def c_string(name: str) -> str:
    """A name as a string of C: nothing in it ends the string or means something else."""
    plain = (c if c.isascii() and (c.isalnum() or c in " _-+./:,()[]") else None for c in name)
    parts = (c or "".join(f"\\{byte:03o}" for byte in d.encode()) for c, d in zip(plain, name, strict=True))
    return f'"{"".join(parts)}"'


def c_comment(name: str) -> str:
    """A name within a comment of C: nothing in it ends the comment."""
    return "".join(c if c.isprintable() and c not in "*/\\?" else "_" for c in name)


def not_read(arguments: Iterable[str], body: str) -> str:
    """Statements that read the arguments which a body does not: strict compilers refuse others.

    The gravity of a planar arm depends on no angle, say, and what one joint does not on its speed.
    """
    return "".join(f"    (void){x};\n" for x in arguments if not re.search(rf"\b{x}\b", body))


def text_of(
    function: Function, prefix: str, dialect: Scalars, inner: dict[str, tuple[str, int]] | None = None
) -> Text:
    """The definitions of a function's pieces, called PREFIX_NAME_0 and on.

    Parameters
    ----------
    dialect : Scalars
        How numbers are written.
    inner : name of a function that is called -> its arguments behind x and the result, and its work memory
    """
    return _Writer(function, prefix, dialect, inner or {}).text()


class _Writer:
    def __init__(
        self, function: Function, prefix: str, dialect: Scalars, inner: dict[str, tuple[str, int]]
    ) -> None:
        self.function, self.graph, self.prefix, self.dialect = function, function.graph, prefix, dialect
        self.kind = dialect.kind
        self._inner = inner
        self._room = max((work for _, work in inner.values()), default=0)
        self._order = _with_results(self.graph, self.graph.needed(function.results))
        self._result_counts = Counter(node[1] for node in self.graph.nodes if node[0] == RESULT)
        self._places = self._outputs()
        found = branches_of(self.graph, self._order, function.results) if dialect.branches else []
        #: branches by their first select, nodes within them, selects whose values they give
        self._branches = {branch.selects[0]: branch for branch in found}
        self._within = {i for branch in found for i in (*branch.sides[0], *branch.sides[1], *branch.inner)}
        self._given = {i for branch in found for i in branch.selects}
        self._stands_for: dict[int, int] = {}
        self._share()

    def _outputs(self) -> dict[int, list[str]]:
        """Where the value of a node is written to."""
        places: dict[int, list[str]] = {}
        k = 0
        for name, shape in self.function.outputs:
            size = 1
            for n in shape:
                size *= n
            for i in range(size):
                places.setdefault(self.function.results[k], []).append(f"{name}[{i}]")
                k += 1
        return places

    def _share(self) -> None:
        """Decide which nodes get statements of their own, in which pieces, and what the work memory holds."""
        graph = self.graph
        users: Counter[int] = Counter()
        called_with: set[int] = set()
        for i in self._order:
            arguments = graph.arguments(i)
            users.update(arguments)
            if graph.nodes[i][0] == CALL:
                called_with.update(arguments)
        depth: dict[int, int] = {}
        self._named: list[int] = []
        named: set[int] = set()
        for i in self._order:
            operation = graph.nodes[i][0]
            if operation in (CONSTANT, INPUT) or (i in self._given and i not in self._branches):
                continue
            if i in self._branches:
                self._named += self._branches[i].selects
                named |= {*self._branches[i].selects}
                continue
            deepest = 0
            for j in graph.arguments(i):
                if j not in named:
                    deepest = max(deepest, depth.get(j, 0))
            depth[i] = 1 + deepest
            alone = users[i] == 1 and i not in self._places
            if operation in (CALL, RESULT) or not alone or depth[i] >= DEPTH or i in called_with:
                if i not in self._within:
                    self._named.append(i)
                named.add(i)
        self._is_named = named
        self._piece_of: dict[int, int] = {}
        statements = piece = 0
        for i in self._named:
            if statements >= PIECE and graph.nodes[i][0] != RESULT and self._may_begin(i):
                statements, piece = 0, piece + 1
            self._piece_of[i] = piece
            statements += 1
            if i in self._branches:
                branch = self._branches[i]
                for j in (*branch.sides[0], *branch.sides[1], *branch.inner):
                    self._piece_of[j] = piece
                statements += len(branch.sides[0]) + len(branch.sides[1])
        self._pieces = piece + 1
        self._find_slots()

    def _may_begin(self, i: int) -> bool:
        """Whether a piece may begin with a node: not amid the selects of a branch."""
        return i not in self._given or i in self._branches

    def _reads(self, i: int) -> Iterable[int]:
        """Named nodes that the statement of a node reads."""
        if i in self._branches:
            stack = list(self._branches[i].reads(self.graph))
        else:
            stack = [] if i in self._given else list(self.graph.arguments(i))
        while stack:
            j = stack.pop()
            if j in self._is_named:
                yield j
            else:
                stack += self.graph.arguments(j)

    def _find_slots(self) -> None:
        """Places in the work memory of what later pieces read, given free after the last of them."""
        last: dict[int, int] = {}
        for i in self._named:
            for j in self._reads(i):
                if self.graph.nodes[j][0] != CALL and self._piece_of[j] < self._piece_of[i]:
                    last[j] = self._piece_of[i]
        self._slot: dict[int, int] = {}
        free: list[int] = []
        ends: dict[int, list[int]] = {}
        self._size, now = 0, 0
        for i in self._named:
            while now < self._piece_of[i]:
                now += 1
                # a piece may read what it frees: its places are free in the next one
                free += ends.pop(now - 1, [])
            if i in last:
                if not free:
                    free.append(self._size)
                    self._size += 1
                self._slot[i] = free.pop()
                ends.setdefault(last[i], []).append(self._slot[i])

    # ---- text ----

    def text(self) -> Text:
        """All pieces and their calls."""
        definitions, calls = [], []
        in_piece: list[list[int]] = [[] for _ in range(self._pieces)]
        for i in self._named:
            in_piece[self._piece_of[i]].append(i)
        for k in range(self._pieces):
            lines = [line for i in in_piece[k] for line in self._statements(i)]
            if k == self._pieces - 1:
                lines += self._plain_outputs()
            body = "\n".join(lines)
            name = f"{self.prefix}_{self.function.name}_{k}"
            used = [(kind, x) for kind, x in self._arguments() if re.search(rf"\b{x}(\[|, y| \+)", body)]
            if not used:
                used = [("const " + self.kind, self.function.inputs[0][0])]
                body = f"    (void){used[0][1]};\n{body}"
            parameters = ", ".join(f"{kind} *{x}" for kind, x in used)
            definitions.append(f"static void {name}({parameters})\n{{\n{body}\n}}\n")
            calls.append(f"{name}({', '.join(x for _, x in used)});")
        return Text(definitions, calls, self._size + self._room)

    def _arguments(self) -> list[tuple[str, str]]:
        const = "const " + self.kind
        inputs = [(const, name) for name, _ in self.function.inputs]
        return [*inputs, *((self.kind, name) for name, _ in self.function.outputs), (self.kind, "work")]

    def _plain_outputs(self) -> list[str]:
        """Outputs that are inputs, constants, or parts of other expressions."""
        return [
            f"    {place} = {self._whole(i, self._pieces - 1)};"
            for i, places in self._places.items()
            if i not in self._is_named
            for place in places
        ]

    def _statements(self, i: int) -> list[str]:
        operation, *rest = self.graph.nodes[i]
        piece = self._piece_of[i]
        if i in self._given:
            return [
                *(self._branch(self._branches[i]) if i in self._branches else ()),
                *self._kept(i, f"t{i}"),
            ]
        if operation == CALL:
            name, *arguments = rest
            n = self._result_counts[i]
            lines = [f"    {self.kind} x{i}[{len(arguments)}], y{i}[{n}];"]
            lines += [f"    x{i}[{k}] = {self._whole(j, piece)};" for k, j in enumerate(arguments)]
            behind, _ = self._inner[name]
            p = ", p" if "p" in behind else ""
            return [*lines, f"    {self.prefix}_{name}(x{i}{p}, y{i}, work + {self._size});"]
        if operation == RESULT:
            text = f"y{rest[0]}[{rest[1]}]"
        else:
            text = self._expression(i, piece)
        decides = operation in _CONDITIONS
        name = f"c{i}" if decides else f"t{i}"
        kind = self.dialect.condition if decides else self.kind
        return [f"    const {kind} {name} = {text};", *self._kept(i, name)]

    def _kept(self, i: int, name: str) -> list[str]:
        """Statements that write a value to the work memory and to outputs."""
        decides = self.graph.nodes[i][0] in _CONDITIONS
        lines = [f"    {place} = {name};" for place in self._places.get(i, ())]
        if i in self._slot:
            lines.insert(0, f"    work[{self._slot[i]}] = {self.dialect.kept(name) if decides else name};")
        return lines

    def _branch(self, branch: Branch) -> list[str]:
        """Statements of a branch, which declare its selects."""
        piece = self._piece_of[branch.selects[0]]
        lines = [f"    {self.kind} {', '.join(f't{i}' for i in branch.selects)};"]
        for side, nodes, head in ((2, branch.sides[0], f"if ({self._value(branch.condition, piece)})"),
                                  (3, branch.sides[1], "else")):  # fmt: skip
            self._stands_for = {i: self.graph.nodes[i][side] for i in branch.inner}
            lines.append(f"    {head} {{" if side == 2 else f"    }} {head} {{")
            for i in nodes:
                if i in self._is_named:
                    lines += [f"    {line}" for line in self._statements(i)]
            lines += [
                f"        t{i} = {self._whole(self.graph.nodes[i][side], piece)};" for i in branch.selects
            ]
        self._stands_for = {}
        return [*lines, "    }"]

    def _value(self, i: int, piece: int) -> str:
        """A node as part of an expression."""
        i = self._stands_for.get(i, i)
        operation, *rest = self.graph.nodes[i]
        if operation == CONSTANT:
            return self.dialect.constant(float(rest[0]))
        if operation == INPUT:
            return f"{rest[0]}[{rest[1]}]"
        if i not in self._is_named:
            return f"({self._expression(i, piece)})"
        if self._piece_of[i] == piece:
            return f"c{i}" if operation in _CONDITIONS else f"t{i}"
        slot = f"work[{self._slot[i]}]"
        return self.dialect.recalled(slot) if operation in _CONDITIONS else slot

    def _whole(self, i: int, piece: int) -> str:
        """A node where a number has to stand."""
        return self.dialect.whole(self._value(i, piece), self.graph.nodes[i][0] == CONSTANT)

    def _expression(self, i: int, piece: int) -> str:
        operation, *arguments = self.graph.nodes[i]
        values = [self._value(j, piece) for j in arguments]
        constants = [self.graph.nodes[j][0] == CONSTANT for j in arguments]
        return self.dialect.operation(operation, values, constants)


def _with_results(graph: Graph, needed: list[int]) -> list[int]:
    """The nodes, with the results of every call right behind it."""
    results: dict[int, list[int]] = {}
    for i in needed:
        if graph.nodes[i][0] == RESULT:
            results.setdefault(graph.nodes[i][1], []).append(i)
    found: list[int] = []
    for i in needed:
        if graph.nodes[i][0] != RESULT:
            found.append(i)
            found += results.get(i, [])
    return found
