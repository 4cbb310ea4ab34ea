"""`python -m evals.wealthops`: write evals/wealthops/records.jsonl from households.toml."""

from evals.wealthops import write

if __name__ == "__main__":
    print(write().name)
