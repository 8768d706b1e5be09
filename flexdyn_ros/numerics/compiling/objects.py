"""Compiled code as it is kept: object files, which a process loads without Numba.

Numba's code is text for LLVM. Of that text all but the one function that is called becomes internal, so that
LLVM sees which calls cannot fail and drops what handles failures; what is left needs only the C library.
Code that needs more (it raises, it allocates arrays) is not kept so: Numba keeps it (numba_cache.py).
"""

from __future__ import annotations

import os
from functools import cache
from struct import unpack_from
from typing import Any

from llvmlite import binding as llvm

#: functions of the C library that compiled code calls
_LIBRARY = frozenset(
    name
    for names in (
        "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs",
        "floor fma fmax fmin fmod frexp hypot ldexp lgamma log log10 log1p log2 nearbyint pow rint round sin",
        "sincos sinh sqrt tan tanh tgamma trunc memcpy memmove memset",
    )
    for name in names.split()
)
#: kind of the section of symbols
_SYMBOLS = 2
#: what Numba's arrays are freed with, and what allocates them
_DESTRUCTOR, _ALLOCATORS = "NRT_MemInfo_call_dtor", ("NRT_Allocate", "NRT_MemInfo_alloc", "NRT_MemInfo_new")


#: levels of x86-64 that code of wheels may be for, and what a processor needs for it
LEVELS = {"x86-64-v3": "+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"}


@cache
def _features() -> frozenset[str]:
    """What code may use, as +NAME and -NAME: of this processor, or as Numba is told.

    Raises
    ------
    ValueError
        For words without a sign, at which LLVM ends the process.
    """
    told = os.environ.get("NUMBA_CPU_FEATURES")
    words = (llvm.get_host_cpu_features().flatten() if told is None else told).split(",")
    if wrong := [word for word in words if word and word[0] not in "+-"]:
        raise ValueError(f"NUMBA_CPU_FEATURES has {wrong[0]!r}, expected +NAME or -NAME, separated by commas")
    return frozenset(words)


def can(feature: str) -> bool:
    """Whether code may use what LLVM calls by that name: "avx512f"."""
    return f"+{feature}" in _features()


def _processor() -> str:
    return os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()


@cache
def machine() -> str:
    """What code is made for, in LLVM's words: this processor, or what Numba is told (NUMBA_CPU_NAME)."""
    return " ".join((llvm.get_process_triple(), _processor(), *sorted(_features())))


@cache
def machines() -> tuple[str, ...]:
    """What code may be for to run here: `machine`, then levels that this processor has. Those of AVX-512 need
    code of their own: their vectors are longer."""
    triple = llvm.get_process_triple()
    levels = {name: needs.split(",") for name, needs in LEVELS.items() if triple.startswith("x86_64")}
    fitting = [name for name, needs in levels.items() if _features().issuperset(needs) and not can("avx512f")]
    return machine(), *(" ".join((triple, name, *sorted(levels[name]))) for name in fitting)


@cache
def _target() -> Any:
    """The machine that code is made for."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=_processor(),
        features=",".join(sorted(_features())),
        opt=3,
        reloc="default",
        codemodel="jitdefault",
        jit=True,
    )


@cache
def _engine() -> Any:
    """What links object code into this process."""
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target())


def object_code(text: str, function: str, symbol: str) -> bytes | None:
    """Object code of a function in LLVM's text, under another name; None if it needs more than the C library.

    Passes of LLVM find that calls always return success, and drop what follows failures; they touch no
    arithmetic. A llvmlite that has not these passes (before 0.44) makes none.
    """
    if not hasattr(llvm, "create_new_module_pass_manager"):
        return None
    module = llvm.parse_assembly(text)
    _drop_destructor(module)
    for one in (*module.functions, *module.global_variables):
        if not one.is_declaration and one.name != function:
            one.linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_ipsccp_pass()
    passes.add_simplify_cfg_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(_target(), llvm.PipelineTuningOptions(speed_level=3)))
    module.get_function(function).name = symbol
    code: bytes = _target().emit_object(module)
    return code if _needed(code) <= _LIBRARY else None


def variables_of(module: Any) -> bytes:
    """Object code of the variables of a module that it shares with others, without its functions."""
    shared = [one for one in module.global_variables if one.linkage is llvm.Linkage.common]
    code: bytes = _target().emit_object(llvm.parse_assembly("\n".join(map(str, shared))))
    return code


def _needed(code: bytes) -> set[str]:
    """Names that object code takes from elsewhere. LLVM makes calls of its own instructions too, as x^n of an
    integer n, which only compilers have.

    Read from its table of symbols (ELF of 64 bits; System V ABI, chapter 4); other formats need what nobody
    has.
    """
    if code[:6] != b"\x7fELF\x02\x01":
        return {"another format"}
    (start,), (size, count) = unpack_from("<Q", code, 0x28), unpack_from("<HH", code, 0x3A)
    # of a section: name, kind, flags, address, offset, length, link, ...
    sections = [unpack_from("<IIQQQQI", code, start + i * size) for i in range(count)]
    names = set()
    for _, kind, _, _, offset, length, link in sections:
        for at in range(offset, offset + length, 24) if kind == _SYMBOLS else ():
            name, _, _, section = unpack_from("<IBBH", code, at)
            if name and section == 0:
                text = sections[link][4] + name
                names.add(code[text : code.index(b"\0", text)].decode())
    return names - {"_GLOBAL_OFFSET_TABLE_"}


def _drop_destructor(module: Any) -> None:
    """Say that nothing frees arrays, in a module that allocates none: all that it sees lies at addresses."""
    declared = {f.name: f for f in module.functions if f.is_declaration}
    if _DESTRUCTOR in declared and not any(name.startswith(_ALLOCATORS) for name in declared):
        kind = str(declared[_DESTRUCTOR]).partition("(")[2].split()[0].strip("),")
        text = f"define void @{_DESTRUCTOR}({kind} %array) {{\n  unreachable\n}}\n"
        module.link_in(llvm.parse_assembly(text))


def load(code: bytes, symbol: str) -> int:
    """Address of a function of object code, which stays in this process."""
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    address: int = engine.get_function_address(symbol)
    return address
