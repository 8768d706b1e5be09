"""What is compiled beforehand of this package: nothing, whoever wants it waits for a C compiler anyway."""

GROUPS: dict[str, tuple[str, ...]] = {}
