from distributedlog.coordination import Timer, TimerBook

KEY = ("session", "g", "m")


def test_a_deadline_is_due_once_and_not_before_its_time():
    book = TimerBook()
    book.set(KEY, 100, epoch=7)
    (timer,) = book.drain()
    assert timer == Timer(KEY, 100)
    assert book.due(timer, 100) == 7
    assert book.due(timer, 200) is None


def test_moving_a_deadline_costs_no_wakeup_and_an_early_one_is_armed_anew():
    book = TimerBook()
    book.set(KEY, 100)
    for at_ms in range(110, 200, 10):
        book.set(KEY, at_ms)
    (timer,) = book.drain()
    assert book.due(timer, 100) is None
    assert book.drain() == [Timer(KEY, 190)]
    assert book.due(Timer(KEY, 190), 190) == 0


def test_an_earlier_deadline_has_a_wakeup_of_its_own_and_the_later_one_is_stale():
    book = TimerBook()
    book.set(KEY, 100)
    book.set(KEY, 50)
    late, early = book.drain()
    assert book.due(early, 50) == 0
    assert book.due(late, 100) is None
    assert book.drain() == []


def test_a_cancelled_deadline_lets_its_wakeup_pass():
    book = TimerBook()
    book.set(KEY, 100)
    (timer,) = book.drain()
    book.cancel(KEY)
    book.cancel(KEY)
    assert book.due(timer, 100) is None
    book.set(KEY, 150)
    assert book.drain() == [Timer(KEY, 150)]


def test_a_deadline_set_while_an_old_wakeup_is_out_is_not_missed():
    book = TimerBook()
    book.set(KEY, 100)
    (timer,) = book.drain()
    book.cancel(KEY)
    book.set(KEY, 300)
    assert book.drain() == [], "the wake-up at 100 will do"
    assert book.due(timer, 100) is None
    assert book.drain() == [Timer(KEY, 300)]


def test_set_if_absent_leaves_a_deadline_where_it_is():
    book = TimerBook()
    book.set_if_absent(KEY, 100)
    book.set_if_absent(KEY, 200)
    assert (book.deadline_ms(KEY), len(book), KEY in book) == (100, 1, True)
