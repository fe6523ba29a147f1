"""The stores and the proxy do what the other tests rely on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from object_store import READER, WRITER, Keys, s3_client
from proxy import OldObjects, is_put, puts, s3_error, shift_clock


def code_of(call) -> str:
    with pytest.raises(ClientError) as error:
        call()
    return error.value.response["Error"]["Code"]


def test_moto_has_conditional_writes(bucket, proxy):
    client = s3_client(proxy.port)
    etag = client.put_object(Bucket=bucket.name, Key="a/b", Body=b"1", IfNoneMatch="*")["ETag"]
    again = {"Bucket": bucket.name, "Key": "a/b", "Body": b"2"}
    assert code_of(lambda: client.put_object(**again, IfNoneMatch="*")) == "PreconditionFailed"
    client.put_object(Bucket=bucket.name, Key="a/b", Body=b"3", IfMatch=etag)
    assert code_of(lambda: client.put_object(**again, IfMatch=etag)) == "PreconditionFailed"
    assert bucket.contents() == {"a/b": b"3"}


def test_proxy_applies_a_put_whose_answer_it_cuts(bucket, proxy):
    client = s3_client(proxy.port)
    proxy.cut_every(2)
    client.put_object(Bucket=bucket.name, Key="1", Body=b"1")
    with pytest.raises(BotoCoreError):
        client.put_object(Bucket=bucket.name, Key="2", Body=b"2")
    assert bucket.contents() == {"1": b"1", "2": b"2"}


def test_proxy_cuts_before_the_store_sees_the_request(bucket, proxy):
    proxy.rules.before.append(puts("^2$"))
    client = s3_client(proxy.port)
    client.put_object(Bucket=bucket.name, Key="1", Body=b"1")
    with pytest.raises(BotoCoreError):
        client.put_object(Bucket=bucket.name, Key="2", Body=b"2")
    assert bucket.contents() == {"1": b"1"}


def test_proxy_refuses_in_the_place_of_the_store(bucket, proxy):
    proxy.refuse(s3_error(403, "AccessDenied", "Access Denied"), is_put)
    client = s3_client(proxy.port)
    assert code_of(lambda: client.put_object(Bucket=bucket.name, Key="1", Body=b"1")) == "AccessDenied"
    assert client.list_objects_v2(Bucket=bucket.name)["KeyCount"] == 0
    assert bucket.keys() == []


def test_proxy_makes_objects_old_until_they_are_written_again(bucket, proxy):
    for key in ("1", "2"):
        bucket.put(key, b"<Body>1</Body>")
    proxy.rules.change.append(OldObjects(["1", "2"]))
    client = s3_client(proxy.port)
    client.put_object(Bucket=bucket.name, Key="2", Body=b"2")
    long_ago = datetime.now(UTC) - timedelta(days=199)
    listed = client.list_objects_v2(Bucket=bucket.name)["Contents"]
    assert [each["LastModified"] < long_ago for each in listed] == [True, False]
    answer = client.get_object(Bucket=bucket.name, Key="1")
    assert answer["LastModified"] < long_ago
    assert answer["Body"].read() == b"<Body>1</Body>"
    assert client.get_object(Bucket=bucket.name, Key="2")["LastModified"] > long_ago


def test_proxy_shifts_the_clock_of_the_store(bucket, proxy):
    bucket.put("1", b"1")
    proxy.rules.change.append(shift_clock(600))
    client = s3_client(proxy.port)
    soon = datetime.now(UTC) + timedelta(seconds=500)
    assert client.list_objects_v2(Bucket=bucket.name)["Contents"][0]["LastModified"] > soon
    assert client.head_object(Bucket=bucket.name, Key="1")["LastModified"] > soon


def test_stopped_proxy_is_unreachable_until_it_starts_again(bucket, proxy):
    client = s3_client(proxy.port)
    client.put_object(Bucket=bucket.name, Key="1", Body=b"1")
    proxy.stop()
    with pytest.raises(BotoCoreError):
        client.get_object(Bucket=bucket.name, Key="1")
    proxy.start()
    assert client.get_object(Bucket=bucket.name, Key="1")["Body"].read() == b"1"


def test_seaweedfs_tells_identities_apart(seaweedfs):
    s3_client(seaweedfs.port).create_bucket(Bucket="identities")
    s3_client(seaweedfs.port).put_object(Bucket="identities", Key="1", Body=b"1")
    put = {"Bucket": "identities", "Key": "2", "Body": b"2"}
    reader = s3_client(seaweedfs.port, READER)
    assert reader.get_object(Bucket="identities", Key="1")["Body"].read() == b"1"
    assert code_of(lambda: reader.put_object(**put)) == "AccessDenied"
    wrong = s3_client(seaweedfs.port, Keys(WRITER.access, "wrong"))
    assert code_of(lambda: wrong.put_object(**put)) == "SignatureDoesNotMatch"
    unknown = s3_client(seaweedfs.port, Keys("AKIANOBODY", "wrong"))
    assert code_of(lambda: unknown.put_object(**put)) == "InvalidAccessKeyId"
