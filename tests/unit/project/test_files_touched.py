"""The count of files that a flow executes: functions of the package only, in all threads, without imports."""

import json
import sys
import threading
from importlib import reload

from benchmarks.files_touched import files_of, functions_called
from onthedot.core import ids, json_text, slots


def test_a_file_counts_when_one_of_its_functions_is_called() -> None:
    assert files_of(functions_called(lambda: json_text.to_text({"a": 1}))) == ["core/json_text.py"]
    assert sys.getprofile() is None


def test_functions_of_other_packages_do_not_count() -> None:
    assert functions_called(lambda: json.loads("{}")) == set()


def test_the_body_of_a_module_does_not_count() -> None:
    assert functions_called(lambda: reload(slots)) == set()


def test_functions_in_threads_that_the_flow_starts_count() -> None:
    def flow() -> None:
        thread = threading.Thread(target=ids.fresh_job_id)
        thread.start()
        thread.join()

    assert "core/ids.py" in files_of(functions_called(flow))
