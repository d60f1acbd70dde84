"""An on-call rota of six weeks as a calendar (ICS): whoever waited longest, holidays left out."""

import datetime

from evenhand.serve import background_service

AWAY = {2: ["Ben"], 3: ["Ben", "Cem"]}  # by the number of the week
monday, lines = datetime.date(2026, 1, 5), ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:evenhand"]
with background_service() as evenhand:
    evenhand.make_pool("on-call", rule="longest_wait")
    for name in ("Ann", "Ben", "Cem"):
        evenhand.happen("on-call", "join", name, at="2026-01-01")
    for week in range(6):
        day = monday + datetime.timedelta(weeks=week)
        wish = {"at": day.isoformat(), "without": AWAY.get(week, [])}
        name = evenhand.take("on-call", key=f"week-{day}", **wish)["shares"][0]["name"]
        lines += ["BEGIN:VEVENT", f"UID:{day}@on-call", f"DTSTAMP:{day:%Y%m%d}T000000Z"]
        lines += [f"DTSTART;VALUE=DATE:{day:%Y%m%d}", "DURATION:P7D"]
        lines += [f"SUMMARY:{name} is on call", "END:VEVENT"]
print("\r\n".join([*lines, "END:VCALENDAR"]))
