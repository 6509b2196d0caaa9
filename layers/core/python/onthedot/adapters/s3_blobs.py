"""What is too large for a record, in S3."""

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from onthedot.adapters.aws_errors import error_code, translated

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


class S3Blobs:
    """`Blobs` in one bucket."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def put(self, key: str, content: bytes) -> None:
        with translated("put blob"):
            self._client.put_object(Bucket=self._bucket, Key=key, Body=content, ContentType="application/json")

    def get(self, key: str) -> bytes | None:
        try:
            with translated("get blob"):
                return self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except ClientError as error:
            if error_code(error) in ("NoSuchKey", "404"):
                return None
            raise
