import pytest
from tests.checkers.check import main
from tests.checkers.events import InvalidHistory, Send, Sent
from tests.checkers.jsonlines import Recorder, load, of_line, save, to_line
from tests.checkers.planting import Plot, lost_write
from tests.checkers.right_histories import right_history


def test_a_history_comes_back_as_it_was(tmp_path):
    history = right_history(1)
    save(tmp_path / "history.jsonl", history)
    assert load(tmp_path / "history.jsonl") == history


def test_the_files_of_all_processes_are_put_together_by_time(tmp_path):
    history = right_history(2)
    paths = []
    for process in {event.process for event in history}:
        paths.append(tmp_path / f"{process}.jsonl")
        save(paths[-1], [event for event in history if event.process == process])
    assert load(*paths) == history


def test_a_recorder_has_told_each_event_before_the_next(tmp_path):
    path = tmp_path / "p.jsonl"
    recorder = Recorder("p", path)
    first = recorder.record(Send, "t-0", "a")
    assert load(path) == [first]
    second = recorder.record(Sent, "t-0", "a", 0)
    assert load(path) == [first, second] == recorder.events
    recorder.close()


def test_a_line_that_a_kill_has_cut_is_left_out(tmp_path):
    path = tmp_path / "p.jsonl"
    event = Send(1, "p", "t-0", "a")
    path.write_text(to_line(event) + "\n" + to_line(Sent(2, "p", "t-0", "a", 0))[:-3])
    assert load(path) == [event]


@pytest.mark.parametrize("line", ["", "x", "[]", "{}", '{"type":"Sent"}', '{"type":"Nothing","time":1}'])
def test_what_is_no_event(line):
    with pytest.raises(InvalidHistory):
        of_line(line)


def test_from_the_command_line(tmp_path, capsys):
    history = right_history(3)
    save(tmp_path / "right.jsonl", history)
    assert main([tmp_path / "right.jsonl"]) == 0
    save(tmp_path / "wrong.jsonl", lost_write(Plot(history, 1)))
    assert main([tmp_path / "wrong.jsonl"]) == 1
    assert "LOST_WRITE (1)" in capsys.readouterr().out
