"""A fair queue in front of a function: who asks for much does not hold up who asks for little."""

from evenhand.serve import background_service

WAITING = [("batch", "B1"), ("batch", "B2"), ("batch", "B3"), ("Ann", "A1"), ("Ben", "C1")]


def slow_function(job):
    return f"did {job}"


with background_service() as evenhand:
    evenhand.make_pool("jobs", ["batch", "Ann", "Ben"], rule="virtual_time", by_request=True)
    for owner, _ in WAITING:
        evenhand.happen("jobs", "ask", owner)
    while WAITING:
        owner = evenhand.take("jobs")["shares"][0]["name"]
        job = next(job for who, job in WAITING if who == owner)
        WAITING.remove((owner, job))
        print(f"{owner}: {slow_function(job)}")
