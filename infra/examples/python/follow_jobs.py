"""Reads `contact-import.jobs` and processes each finished import exactly once.

The results and the position are in one SQLite file and change in one transaction, so that a crash neither loses nor
repeats an event.
"""

import json
import os
import signal
import sqlite3

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.subscription_state import ConsumerRebalanceListener

KAFKA_BROKERS = os.environ.get("KAFKA_BROKERS", "127.0.0.1:9092").split(",")
TOPIC = os.environ.get("TOPIC", "contact-import.jobs")
GROUP_ID = os.environ.get("GROUP_ID", "my-team.follow-jobs")
DATABASE = os.environ.get("DATABASE", "follow-jobs.sqlite")

# The known event versions. Others are ignored.
KNOWN = {"urn:contact-import:events:ImportCompleted:1", "urn:contact-import:events:ImportFailed:1"}

# kafka-python calls the listener below in another thread while the main thread waits in `poll`.
database = sqlite3.connect(DATABASE, check_same_thread=False)
# WAL: readers of the file do not block transactions.
database.executescript(
    """
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS positions (topic TEXT, partition INTEGER, next TEXT, PRIMARY KEY (topic, partition));
    CREATE TABLE IF NOT EXISTS outcomes (ce_id TEXT PRIMARY KEY, job_id TEXT, type TEXT, data TEXT);
    """
)


def handle_event(record):
    """Stores the outcome and returns a line to print, or None for a repeated record. Replace this with your own code."""
    headers = {name: value.decode() for name, value in record.headers if value is not None}
    if headers.get("ce_dataschema") not in KNOWN:
        return None
    row = (headers["ce_id"], headers["ce_subject"], headers["ce_type"], record.value.decode())
    if database.execute("INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?, ?)", row).rowcount == 0:
        return None
    return json.dumps({"id": row[0], "type": row[2], "job_id": row[1]})


class SeekToStoredPosition(ConsumerRebalanceListener):
    """Seeks each assigned partition to its stored position. Without a stored position, reading starts at the beginning."""

    def __init__(self, consumer):
        self.consumer = consumer

    def on_partitions_revoked(self, revoked):
        """Does nothing, because no unsaved state is in memory."""

    def on_partitions_assigned(self, assigned):
        for partition in assigned:
            query = "SELECT next FROM positions WHERE topic = ? AND partition = ?"
            found = database.execute(query, (partition.topic, partition.partition)).fetchone()
            if found is not None:
                self.consumer.seek(partition, int(found[0]))


def read_batch(partition: TopicPartition, records):
    # One transaction. SQLite rolls it back if a statement fails.
    with database:
        lines = [handle_event(record) for record in records]
        next_offset = str(records[-1].offset + 1)
        database.execute(
            "INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", (partition.topic, partition.partition, next_offset)
        )
    # Print after the commit, because a rolled back batch is processed again.
    for line in lines:
        if line is not None:
            print(line, flush=True)


def security():
    tls = os.environ.get("KAFKA_TLS") == "true"
    mechanism = os.environ.get("KAFKA_SASL_MECHANISM")
    if mechanism is None:
        return {"security_protocol": "SSL" if tls else "PLAINTEXT"}
    return {
        "security_protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": os.environ.get("KAFKA_SASL_USERNAME"),
        "sasl_plain_password": os.environ.get("KAFKA_SASL_PASSWORD"),
    }


def main():
    stopping = False

    def stop(*_):
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    consumer = KafkaConsumer(
        bootstrap_servers=KAFKA_BROKERS,
        group_id=GROUP_ID,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        # After this time without heartbeats, the group reassigns the partitions of the instance.
        session_timeout_ms=10_000,
        **security(),
    )
    consumer.subscribe([TOPIC], listener=SeekToStoredPosition(consumer))
    while not stopping:
        for partition, records in consumer.poll(timeout_ms=500).items():
            read_batch(partition, records)
    consumer.close()
    database.close()


if __name__ == "__main__":
    main()
