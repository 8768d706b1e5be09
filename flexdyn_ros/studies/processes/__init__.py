"""The cluster of a study, and what runs in it: workers, and below each the process that computes."""
