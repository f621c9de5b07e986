"""Loads a log into an engine, runs a file of queries there, and prints what they return as JSON:
{"rule/row": [number of rows, the first five by n]}.

    python3 warehouse.py ENGINE QUERIES.sql LOG.csv [CONNECTION]

An engine that is not installed ends it with 42.
"""

import csv
import json
import sys

ABSENT = 42
COLUMNS = ["n", "id", "at", "from", "result", "attempts", "to", "payload"]
NUMBERS = {"n", "at", "attempts"}


def rows(path):
    """Blank numbers are NULL; blank texts stay blank, as a warehouse often has them."""
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield [(int(row[c]) if row[c] else None) if c in NUMBERS else row[c] for c in COLUMNS]


def columns(quote, number, text):
    return ", ".join(f"{quote}{c}{quote} {number if c in NUMBERS else text}" for c in COLUMNS)


def sqlite(path, _):
    import sqlite3

    engine = sqlite3.connect(":memory:")
    engine.execute(f"CREATE TABLE moves ({columns(chr(34), 'INTEGER', 'TEXT')})")
    engine.executemany(f"INSERT INTO moves VALUES ({','.join('?' * len(COLUMNS))})", rows(path))

    def run(query):
        cursor = engine.execute(query)
        return [d[0] for d in cursor.description], cursor.fetchall()

    return run


def postgres(path, connection):
    import psycopg

    engine = psycopg.connect(connection)
    engine.execute(f"CREATE TEMPORARY TABLE moves ({columns(chr(34), 'BIGINT', 'TEXT')})")
    with engine.cursor().copy("COPY moves FROM STDIN") as copy:
        for row in rows(path):
            copy.write_row(row)

    def run(query):
        cursor = engine.execute(query.encode())
        return [d.name for d in cursor.description], cursor.fetchall()

    return run


def duckdb(path, _):
    import duckdb

    engine = duckdb.connect()
    types = ", ".join(f"'{c}': '{'BIGINT' if c in NUMBERS else 'VARCHAR'}'" for c in COLUMNS)
    engine.execute(f"CREATE TABLE moves AS SELECT * FROM read_csv('{path}', header=true, columns={{{types}}})")

    def run(query):
        cursor = engine.execute(query)
        return [d[0] for d in cursor.description], cursor.fetchall()

    return run


def spark(path, _):
    from pyspark.sql import SparkSession
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    engine = builder.getOrCreate()
    engine.sparkContext.setLogLevel("ERROR")
    kinds = [StructField(c, LongType() if c in NUMBERS else StringType()) for c in COLUMNS]
    engine.createDataFrame(list(rows(path)), StructType(kinds)).createOrReplaceTempView("moves")

    def run(query):
        frame = engine.sql(query)
        return frame.columns, [tuple(row) for row in frame.collect()]

    return run


def main():
    name, queries, path = sys.argv[1:4]
    try:
        run = {"sqlite": sqlite, "postgres": postgres, "duckdb": duckdb, "spark": spark}[name](path, *(sys.argv[4:] or [""]))
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(ABSENT)
    found = {}
    with open(queries, encoding="utf-8") as file:
        text = "".join(line for line in file if not line.startswith("--"))
    for query in filter(str.strip, text.split(";\n")):
        names, result = run(query)
        at = {name: names.index(name) for name in ("rule", "row", "n")}
        for row in result:
            found.setdefault(f"{row[at['rule']]}/{row[at['row']]}", []).append(row[at["n"]])
    json.dump({key: [len(lines), sorted(lines)[:5]] for key, lines in found.items()}, sys.stdout)


main()
