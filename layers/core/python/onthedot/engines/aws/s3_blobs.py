"""What is too large for a record, in S3."""

import json
from typing import TYPE_CHECKING, Final

from botocore.config import Config
from botocore.exceptions import ClientError

from onthedot.engines.aws.errors import error_code, translated

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

# Left to itself the client signs links with version 2 in the oldest region, and elsewhere makes them for the global
# host, which sends new buckets' readers on to one that the signature does not know. By path it names the region's own.
S3_OPTIONS: Final = Config(signature_version="s3v4", s3={"addressing_style": "path"})
_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"


class S3Blobs:
    """`Blobs` in one bucket; the client is made with `S3_OPTIONS`."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def put(self, key: str, content: bytes) -> None:
        with translated("put blob"):
            self._client.put_object(Bucket=self._bucket, Key=key, Body=content, ContentType=_type_of(content))

    def get(self, key: str) -> bytes | None:
        try:
            with translated("get blob"):
                return self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except ClientError as error:
            if error_code(error) in ("NoSuchKey", "404"):
                return None
            raise

    def link(self, key: str, seconds: int) -> str | None:
        """Signed here, without a call; it shows nothing longer than our own credentials last."""
        with translated("link blob"):
            return self._client.generate_presigned_url(
                "get_object", Params={"Bucket": self._bucket, "Key": key}, ExpiresIn=seconds
            )


def _type_of(content: bytes) -> str:
    """Never what a browser would run: targets answer whatever they like."""
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return _TEXT
    return _JSON
