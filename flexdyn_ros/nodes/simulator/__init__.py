"""`simulator`: a robot simulated in real time, faster, or stepped."""
