"""What only the sender's own steps can show."""

import asyncio

from distributedlog import AsyncProducer


def test_an_alarm_that_rang_a_little_early_is_set_again():
    """A loop's clock is coarse, uvloop's in milliseconds: else what lingers then would wait for ever."""

    async def main():
        async with AsyncProducer("127.0.0.1:1") as producer:
            sender = producer._sender
            now = asyncio.get_running_loop().time()
            sender._set_alarm(now, now + 100)
            first = sender._alarm
            sender._set_alarm(now, now + 200)
            assert sender._alarm is first, "one that comes earlier than need be will do"
            sender._alarmed()
            sender._set_alarm(now, now + 100)
            assert sender._alarm is not None
            second = sender._alarm
            sender._set_alarm(now, now + 50)
            assert second.cancelled()
            assert sender._alarm.when() < now + 60

    asyncio.run(main())
