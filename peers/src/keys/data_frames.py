"""Polars and DuckDB as contenders: the same data, and answers in the protocol of `manyhands_lab::contest`.

Columns are made before anything is timed, and what a call returns is a column, too.
"""

import sys
import time

try:
    import numpy as np

    ENGINE = sys.argv[1]
    if ENGINE == "polars":
        import polars
    else:
        import duckdb
        import pyarrow
except ImportError as error:
    print(f"absent {error}", flush=True)
    sys.exit()

U64 = np.uint64


def mix(value):
    """The last step of SplitMix64, as in `mix.rs`."""
    value = (value ^ (value >> U64(30))) * U64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> U64(27))) * U64(0x94D049BB133111EB)
    return value ^ (value >> U64(31))


def wrapped_sum(values):
    return int(np.sum(values, dtype=U64))


class Polars:
    def __init__(self, values, keys, payloads):
        self.values = polars.DataFrame({"value": values})
        self.table = polars.DataFrame({"value": keys, "payload": payloads})

    def count(self):
        return self.values.group_by("value").len()

    def join(self):
        joined = self.values.lazy().join(self.table.lazy(), on="value")
        xor = polars.col("value") ^ polars.col("payload")
        return joined.select(xor.sum()).collect().item()

    def sort(self):
        return self.values.sort("value")

    def sort_stable(self):
        return self.values.sort("value", maintain_order=True)

    @staticmethod
    def columns(frame):
        return [frame[name].to_numpy().astype(U64) for name in frame.columns]


class DuckDB:
    def __init__(self, values, keys, payloads):
        self.engine = duckdb.connect()
        # Without these a result keeps its input's order, which costs DuckDB time that nobody asked for.
        self.engine.execute("SET preserve_insertion_order = false")
        self.make("given", {"value": values})
        self.make("partner", {"value": keys, "payload": payloads})

    def make(self, name, columns):
        self.engine.register("columns", pyarrow.table(columns))
        self.engine.execute(f"CREATE TABLE {name} AS SELECT * FROM columns")
        self.engine.unregister("columns")

    def ask(self, query):
        return self.engine.sql(query).to_arrow_table()

    def count(self):
        return self.ask("SELECT value, count(*) FROM given GROUP BY value")

    def join(self):
        query = "SELECT sum(xor(value, payload)) FROM given JOIN partner USING (value)"
        return int(self.engine.execute(query).fetchone()[0] or 0)

    def sort(self):
        return self.ask("SELECT value FROM given ORDER BY value")

    sort_stable = sort

    @staticmethod
    def columns(table):
        return [column.to_numpy().astype(U64) for column in table.columns]


def spread(numbers):
    return mix(numbers ^ U64(0x9E3779B97F4A7C15))


def clustered(numbers):
    return ((numbers // U64(64)) << U64(32)) | (numbers % U64(64))


def ordered(order, count):
    """The numbers that are to be sorted, as `number_at` in `data.rs`."""
    places = np.arange(count, dtype=U64)
    if order == "sorted":
        return places
    if order == "reversed":
        return U64(count) - places
    if order == "runs":
        run = U64(-(-count // 100))
        return places % run * U64(100) + places // run
    return mix(places) % U64(8 if order == "few" else 2**64 - 1)


def data(name, count, rows):
    """The method of a case, its values and the keys of its table."""
    random = mix(np.arange(count, dtype=U64))
    keys = np.arange(rows, dtype=U64)
    kind, _, drawn = name.partition("-")
    draw = {"spread": spread, "clustered": clustered}.get(drawn, lambda numbers: numbers)
    if kind == "count":
        return "count", draw(random % U64(1_000 if drawn == "few" else 1_000_000)), keys
    if kind == "join":
        return "join", draw(random % U64(2 * rows)), draw(keys)
    if drawn == "stable" or drawn.startswith("stable-"):
        return "sort_stable", ordered(drawn.removeprefix("stable").removeprefix("-"), count), keys
    return "sort", ordered(drawn, count), keys


class Case:
    """The data of one case, its checksum, and the call that is timed."""

    def __init__(self, text):
        task, count = text.split(" ")
        count = int(count)
        rows = max(count // 10, 1)
        task, values, keys = data(task, count, rows)
        payloads = mix(np.arange(rows, dtype=U64))
        engine = (Polars if ENGINE == "polars" else DuckDB)(values, keys, payloads)
        self.text = text
        self.call = getattr(engine, task)
        self.checksum = self.check(task, engine)
        self.nanos = None

    def check(self, task, engine):
        result = self.call()
        if task == "join":
            return int(result) % 2**64
        columns = engine.columns(result)
        if task == "count":
            key, count = columns
            return wrapped_sum(mix(mix(key) ^ count))
        (values,) = columns
        return wrapped_sum(mix(values ^ np.arange(len(values), dtype=U64)))

    def measure(self, window):
        """Mean nanoseconds of a call, as `window::back_to_back`."""
        batch = 1
        if self.nanos is None or self.nanos < window:
            batch = self.warm_up(window // 16)
        begin = time.perf_counter_ns()
        calls = 0
        while True:
            for _ in range(batch):
                self.call()
            calls += batch
            passed = time.perf_counter_ns() - begin
            if passed >= window:
                self.nanos = passed / calls
                return self.nanos

    def warm_up(self, window):
        begin = time.perf_counter_ns()
        batch = 1
        while True:
            batch_begin = time.perf_counter_ns()
            for _ in range(batch):
                self.call()
            now = time.perf_counter_ns()
            if now - batch_begin < BATCH_LEAST:
                batch *= 2
            elif now - begin >= window:
                return batch


BATCH_LEAST = 50_000

case = None
print("ready", flush=True)
for line in sys.stdin:
    window, text = line.strip().split(" ", 1)
    if case is None or case.text != text:
        case = None
        case = Case(text)
    print(f"ok {case.checksum} {case.measure(int(window) * 1_000_000)}", flush=True)
