"""The stored data: the table with its indexes, and the bucket for content that is too large for a record."""

from aws_cdk import CfnOutput, Duration, Environment, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_s3 as s3
from constructs import Construct

from onthedot.core import schema
from stage_config import StageConfig

LONGEST_WAIT_DAYS = 14
_TYPES = {"S": dynamodb.AttributeType.STRING, "N": dynamodb.AttributeType.NUMBER}


class DataStack(Stack):
    """The table and the bucket. Losing either would lose runs."""

    def __init__(self, scope: Construct, config: StageConfig, env: Environment) -> None:
        super().__init__(
            scope,
            config.name("data"),
            env=env,
            termination_protection=not config.disposable,
            description="onthedot: jobs table and blobs",
        )
        self._config = config
        self._removal = RemovalPolicy.DESTROY if config.disposable else RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
        own = self._table()
        for index in schema.INDEXES:
            self._add_index(own, index)
        # Other stacks import these also while a restored table is in use, so that the stage can switch to and fro.
        for value in (own.table_name, own.table_arn, own.table_stream_arn or ""):
            self.export_value(value)
        self.table = self._restored() or own
        """The table that the stage uses: its own, or a restored one."""
        self.blobs = self._bucket()
        CfnOutput(self, "TableName", value=self.table.table_name)
        CfnOutput(self, "BlobBucketName", value=self.blobs.bucket_name)

    def index_arn(self, index: schema.Index) -> str:
        return f"{self.table.table_arn}/index/{index.name}"

    def _table(self) -> dynamodb.Table:
        return dynamodb.Table(
            self,
            "Jobs",
            table_name=self._config.name("jobs"),
            partition_key=_key(schema.PARTITION_KEY, "S"),
            sort_key=_key(schema.SORT_KEY, "S"),
            time_to_live_attribute=schema.TTL_ATTRIBUTE,
            # The publisher and the statistics function read the stream, so publishing and counting cost a run no
            # write. DynamoDB allows two readers of a shard at a time: there is no room for a third one.
            stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            warm_throughput=self._warm_throughput(),
            # The account's own aws/dynamodb key: its use is in CloudTrail and it cannot be lost or disabled.
            # A customer key would cost more a month than the whole idle system, and needs a key policy for
            # every role. An operator who needs one for compliance changes this line.
            encryption=dynamodb.TableEncryption.AWS_MANAGED,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=not self._config.disposable,
            removal_policy=self._removal,
        )

    def _restored(self) -> dynamodb.ITable | None:
        """Return the table that `onthedot restore` has made. The stage's own table stays alongside it."""
        if self._config.table_name is None:
            return None
        return dynamodb.Table.from_table_attributes(
            self, "RestoredJobs", table_name=self._config.table_name, table_stream_arn=self._config.table_stream_arn
        )

    def _add_index(self, table: dynamodb.Table, index: schema.Index) -> None:
        included = list(index.included)
        table.add_global_secondary_index(
            index_name=index.name,
            partition_key=_key(index.partition_key, "S"),
            sort_key=_key(index.sort_key, index.sort_type),
            projection_type=dynamodb.ProjectionType.INCLUDE if included else dynamodb.ProjectionType.KEYS_ONLY,
            non_key_attributes=included or None,
            # An index that throttles delays the writes of the table, so it must be as warm as the table.
            warm_throughput=self._warm_throughput(),
        )

    def _warm_throughput(self) -> dynamodb.WarmThroughput | None:
        if (warm := self._config.warm_throughput) is None:
            return None
        return dynamodb.WarmThroughput(read_units_per_second=warm.reads, write_units_per_second=warm.writes)

    def _bucket(self) -> s3.Bucket:
        # `onthedot destroy` empties it. CDK's own way, a function in each stage, would leave its logs behind.
        return s3.Bucket(
            self,
            "Blobs",
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            lifecycle_rules=_lifecycle(self._config.history_days),
            removal_policy=self._removal,
        )


def _lifecycle(history_days: int) -> list[s3.LifecycleRule]:
    """Return the rules of the bucket. Results are deleted with the history that shows them.

    Payloads move to cheaper storage, and are never deleted by age: a job may be due in years and needs its payload.
    """
    to_cheaper = s3.Transition(storage_class=s3.StorageClass.INTELLIGENT_TIERING, transition_after=Duration.days(30))
    return [
        s3.LifecycleRule(id="old-blobs-get-cheaper", transitions=[to_cheaper]),
        s3.LifecycleRule(id="results-are-history", prefix=schema.RESULTS, expiration=Duration.days(history_days)),
        # The run of an event begins within days, or never. After that the event is history.
        s3.LifecycleRule(
            id="events-are-history",
            prefix=schema.EVENT_PAYLOADS,
            expiration=Duration.days(history_days + LONGEST_WAIT_DAYS),
        ),
        s3.LifecycleRule(id="no-half-uploads", abort_incomplete_multipart_upload_after=Duration.days(1)),
    ]


def _key(name: str, kind: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=_TYPES[kind])
