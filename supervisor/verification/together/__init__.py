"""Several claims verified by common runs: what holds for all of them is settled, the rest is put back."""
