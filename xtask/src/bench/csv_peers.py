"""One question about bench.csv, asked of one of the engines people use for it.

Arguments: engine, question, file. Prints CPU and wall seconds from the question to its answer, the
most memory held in MB, and the answer. What the import takes is not counted.
"""

import json
import resource
import sys
import time

engine, question, path = sys.argv[1:]
NUMBERS = ["id", "qty", "cents", "price", "ratio"]


def duckdb():
    import duckdb as engine

    source = f"read_csv('{path}')"
    facts = ", ".join(f"sum({c}), avg({c}), count({c})" for c in NUMBERS)
    queries = {
        "numbers": f"SELECT {facts} FROM {source}",
        "groups": f"SELECT category, count(*), sum(price) FROM {source} GROUP BY 1 ORDER BY 2 DESC",
        "frequency": f"SELECT city, count(*) FROM {source} GROUP BY 1 ORDER BY 2 DESC LIMIT 20",
        "median": f"SELECT median(price) FROM {source}",
    }
    engine.sql("SELECT 1").fetchall()
    return lambda: engine.sql(queries[question]).fetchall()


def polars():
    import polars as engine
    from polars import col

    facts = [f(col(c)).alias(c + n) for c in NUMBERS for n, f in
             {"s": engine.Expr.sum, "a": engine.Expr.mean, "n": engine.Expr.count}.items()]
    frame = engine.scan_csv(path)
    largest = {"by": "n", "descending": True}
    queries = {
        "numbers": frame.select(facts),
        "groups": frame.group_by("category").agg(engine.len().alias("n"), col("price").sum()).sort(**largest),
        "frequency": frame.group_by("city").agg(engine.len().alias("n")).sort(**largest).head(20),
        "median": frame.select(col("price").median()),
    }
    return lambda: queries[question].collect(engine="streaming").rows()


def pandas():
    import pandas as engine

    def numbers():
        frame = engine.read_csv(path, usecols=NUMBERS)
        return [[f(frame[c]) for f in (engine.Series.sum, engine.Series.mean, engine.Series.count)]
                for c in NUMBERS]

    queries = {
        "numbers": numbers,
        "groups": lambda: engine.read_csv(path, usecols=["category", "price"]).groupby("category")["price"]
        .agg(["count", "sum"]).sort_values("count", ascending=False).values.tolist(),
        "frequency": lambda: engine.read_csv(path, usecols=["city"])["city"].value_counts().head(20).tolist(),
        "median": lambda: engine.read_csv(path, usecols=["price"])["price"].median(),
    }
    return queries[question]


ask = {"duckdb": duckdb, "polars": polars, "pandas": pandas}[engine]()


def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


cpu, wall = used(), time.monotonic()
answer = ask()
cpu, wall = used() - cpu, time.monotonic() - wall
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"cpu_s": cpu, "wall_s": wall, "peak_mb": peak, "answer": str(answer)[:500]}))
