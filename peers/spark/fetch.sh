#!/bin/sh
# Put the jars of Spark's own Kafka connector (pom.xml names the version) into $1/spark, unless they are there.
set -eu
directory=${1:-.peers}/spark
here=$(dirname "$0")

if [ -e "$directory/.fetched" ] && cmp -s "$here/pom.xml" "$directory/.fetched"; then
    exit 0
fi
for tool in java mvn; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "Fetching Spark's Kafka connector needs Java 17 or later and Maven; there is no '$tool' on the path." >&2
        exit 1
    fi
done
echo "Fetching Spark's Kafka connector into $directory"
rm -rf "$directory"
mkdir -p "$directory"
if ! mvn --quiet --batch-mode --update-snapshots --file "$here/pom.xml" dependency:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$(cd "$directory" && pwd)" >"$directory/maven.log" 2>&1; then
    cat "$directory/maven.log" >&2
    exit 1
fi
cp "$here/pom.xml" "$directory/.fetched"
