"""What is asked (Candidate), what only the scorer sees (Gold), and the files they live in."""
