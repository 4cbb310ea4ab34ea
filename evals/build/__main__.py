"""`python -m evals.build`: write evals/cases/*.jsonl from documents/*.toml."""

from evals.build import write

if __name__ == "__main__":
    for path in write():
        print(path.name)
