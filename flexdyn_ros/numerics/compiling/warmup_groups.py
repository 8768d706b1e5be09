"""Which entries of this package are compiled beforehand (see warmup_names.py)."""

#: what every call with a single state goes through
DEMO = ("direct.*",)
