"""Films, pictures and pages that are kept."""
