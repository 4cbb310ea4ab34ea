"""The answers that a run keeps are shared by its processes."""

import sqlite3
import threading

from pytest_fineval.clients.base import Answer
from pytest_fineval.engine.cache import ResponseCache


def test_a_new_file_that_another_process_is_writing_to_is_waited_for(tmp_path):
    # SQLite waits for no lock when a file's journal is switched. Of workers that open a new file
    # at once one in fifty was told "database is locked", and its case ended as errored.
    path = tmp_path / "answers.sqlite"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE beside (x)")
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO beside VALUES (1)")
    done = threading.Timer(0.3, lambda: other.execute("COMMIT"))
    done.start()
    cache = ResponseCache(path)
    done.join()
    cache.put("adapter", "request", 0, Answer(text="100"))
    kept = cache.get("adapter", "request", 0)
    assert kept is not None
    assert kept.text == "100"
    assert kept.source == "cache"
    cache.close()
    other.close()
