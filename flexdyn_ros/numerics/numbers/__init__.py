"""Number types that kernels are compiled for beside float64, and the functions of any number."""
