#!/usr/bin/env python3
"""The answers of the flights example, computed by other means: a batch over the files, with Python's standard library alone.

Run it in any directory; it writes the .csv.gz files beside itself. They are kept in the repository, so that the tests need no Python.
"""

import collections
import csv
import gzip
import io
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "data"


def rows(name):
    with gzip.open(DATA / name, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def write(name, header, lines):
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(header)
    out.writerows(lines)
    # No name and no time in the archive, so that the same answers are the same bytes.
    with open(HERE / name, "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
        packed.write(text.getvalue().encode())


planes = {row["tail_number"]: row["model"] for row in rows("planes.csv.gz")}
delays = collections.defaultdict(list)
cancelled = collections.Counter()
aircraft = collections.defaultdict(lambda: [0, 0, 0])
without_aircraft = collections.Counter()

for row in rows("flights.csv.gz"):
    departed = row["departure_delay_min"] != ""
    hour = (row["origin"], row["scheduled_departure"][:13] + ":00:00Z")
    hour_delays = delays[hour]
    if departed:
        hour_delays.append(int(row["departure_delay_min"]))
    else:
        cancelled[hour] += 1
    if row["tail_number"] == "":
        without_aircraft[row["origin"]] += 1
    elif departed:
        totals = aircraft[row["tail_number"]]
        totals[0] += 1
        totals[1] += int(row["distance_miles"])
        totals[2] += int(row["air_time_min"] or 0)

write(
    "hourly-delays.csv.gz",
    ["airport", "hour", "flights", "cancelled", "total_delay_min", "max_delay_min"],
    [
        [airport, hour, len(d) + cancelled[airport, hour], cancelled[airport, hour], sum(d), max(d, default="")]
        for (airport, hour), d in sorted(delays.items())
    ],
)
write(
    "aircraft-totals.csv.gz",
    ["tail_number", "model", "flights", "miles", "air_min"],
    [[tail, planes.get(tail, ""), *totals] for tail, totals in sorted(aircraft.items())],
)
write("flights-without-aircraft.csv.gz", ["airport", "flights"], sorted(without_aircraft.items()))
