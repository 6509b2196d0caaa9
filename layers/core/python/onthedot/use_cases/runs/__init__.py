"""Find runs: of a job, of a worker, running ones, and dead letters. Every page reads a bounded number."""
