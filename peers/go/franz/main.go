// franz-go in the shape that tests/peers/programs.py describes: an action in, JSON lines out.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

type record struct {
	Partition int32       `json:"partition"`
	Offset    int64       `json:"offset"`
	Timestamp int64       `json:"timestamp"`
	Key       *string     `json:"key"`
	Value     *string     `json:"value"`
	Headers   [][2]string `json:"headers"`
}

var (
	ctx, cancel = context.WithTimeout(context.Background(), 60*time.Second)
	output      = json.NewEncoder(os.Stdout)
	codecs      = map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
)

func main() {
	defer cancel()
	action, bootstrap, topic, rest := os.Args[1], os.Args[2], os.Args[3], os.Args[4:]
	switch action {
	case "produce":
		produce(bootstrap, topic, rest[0])
	case "consume":
		read(topic, number(rest[0]), nil, kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics(topic))
	case "group":
		read(topic, number(rest[1]), func(client *kgo.Client) {
			must(client.CommitUncommittedOffsets(ctx))
			must(client.LeaveGroupContext(ctx))
		}, kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics(topic), kgo.ConsumerGroup(rest[0]),
			kgo.DisableAutoCommit())
	case "admin":
		administer(bootstrap, topic)
	}
}

func produce(bootstrap, topic, codec string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ProducerBatchCompression(codecs[codec]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	must(err)
	defer client.Close()
	var records []*kgo.Record
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var given record
		must(json.Unmarshal(lines.Bytes(), &given))
		made := &kgo.Record{Topic: topic, Partition: given.Partition, Key: bytes(given.Key),
			Value: bytes(given.Value), Timestamp: time.UnixMilli(given.Timestamp)}
		for _, header := range given.Headers {
			made.Headers = append(made.Headers, kgo.RecordHeader{Key: header[0], Value: []byte(header[1])})
		}
		records = append(records, made)
	}
	for _, result := range client.ProduceSync(ctx, records...) {
		must(result.Err)
	}
	for _, each := range records {
		must(output.Encode(record{Partition: each.Partition, Offset: each.Offset}))
	}
}

func read(topic string, count int, atTheEnd func(*kgo.Client), options ...kgo.Opt) {
	client, err := kgo.NewClient(append(options, kgo.FetchMaxWait(100*time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	must(err)
	defer client.Close()
	for seen := 0; seen < count; {
		fetches := client.PollFetches(ctx)
		for _, failure := range fetches.Errors() {
			must(failure.Err)
		}
		fetches.EachRecord(func(each *kgo.Record) {
			seen++
			found := record{Partition: each.Partition, Offset: each.Offset, Key: text(each.Key),
				Value: text(each.Value), Timestamp: each.Timestamp.UnixMilli(), Headers: [][2]string{}}
			for _, header := range each.Headers {
				found.Headers = append(found.Headers, [2]string{header.Key, string(header.Value)})
			}
			must(output.Encode(found))
		})
	}
	if atTheEnd != nil {
		atTheEnd(client)
	}
}

func administer(bootstrap, topic string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	must(err)
	defer client.Close()
	admin := kadm.NewClient(client)
	retention := "3600000"
	_, err = admin.CreateTopic(ctx, 3, 1, map[string]*string{"retention.ms": &retention}, topic)
	must(err)
	partitions := func() int {
		found, err := admin.ListTopics(ctx, topic)
		must(err)
		must(found.Error())
		return len(found[topic].Partitions)
	}
	setting := func() string {
		found, err := admin.DescribeTopicConfigs(ctx, topic)
		must(err)
		for _, each := range found[0].Configs {
			if each.Key == "retention.ms" {
				return each.MaybeValue()
			}
		}
		return ""
	}
	told := map[string]any{"created": partitions(), "retention": setting()}
	retention = "7200000"
	_, err = admin.AlterTopicConfigs(ctx,
		[]kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &retention}}, topic)
	must(err)
	told["altered"] = setting()
	grown, err := admin.UpdatePartitions(ctx, 5, topic)
	must(err)
	must(grown.Error())
	told["grown"] = partitions()
	deleted, err := admin.DeleteTopics(ctx, topic)
	must(err)
	must(deleted.Error())
	left, err := admin.ListTopics(ctx)
	must(err)
	told["deleted"] = !left.Has(topic)
	must(output.Encode(told))
}

func bytes(given *string) []byte {
	if given == nil {
		return nil
	}
	return []byte(*given)
}

func text(found []byte) *string {
	if found == nil {
		return nil
	}
	made := string(found)
	return &made
}

func number(given string) int {
	found, err := strconv.Atoi(given)
	must(err)
	return found
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
