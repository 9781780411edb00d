#!/bin/sh
# Put Apache Kafka's jars (peers/pom.xml names the version) into $1/kafka, unless they are there.
set -eu
directory=${1:-.peers}/kafka
here=$(dirname "$0")

for tool in java mvn; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "The peer tests need Java 17 or later and Maven; this machine has no '$tool' on its path." >&2
        echo "On Debian and Ubuntu: apt-get install default-jre-headless maven" >&2
        exit 1
    fi
done

if [ -e "$directory/.fetched" ] && cmp -s "$here/pom.xml" "$directory/.fetched"; then
    exit 0
fi
echo "Fetching Apache Kafka into $directory"
rm -rf "$directory"
mkdir -p "$directory"
if ! mvn --quiet --batch-mode --file "$here/pom.xml" dependency:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$(cd "$directory" && pwd)" >"$directory/maven.log" 2>&1; then
    cat "$directory/maven.log" >&2
    exit 1
fi
cp "$here/pom.xml" "$directory/.fetched"
