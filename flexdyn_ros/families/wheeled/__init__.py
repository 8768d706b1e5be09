"""Trees on sprung wheels over a road."""
