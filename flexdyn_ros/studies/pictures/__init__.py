"""Pictures of the table of a study."""
