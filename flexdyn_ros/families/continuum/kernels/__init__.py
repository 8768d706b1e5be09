"""Compiled dynamics of soft arms."""
