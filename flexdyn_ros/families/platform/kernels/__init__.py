"""Compiled dynamics of platforms on six legs."""
