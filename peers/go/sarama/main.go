// Sarama in the shape that tests/peers/programs.py describes: an action in, JSON lines out.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/IBM/sarama"
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
	output = json.NewEncoder(os.Stdout)
	codecs = map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	}
)

func main() {
	action, bootstrap, topic, rest := os.Args[1], []string{os.Args[2]}, os.Args[3], os.Args[4:]
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	switch action {
	case "produce":
		produce(bootstrap, topic, rest[0], config)
	case "consume":
		consume(bootstrap, topic, number(rest[0]), config)
	case "group":
		readAsMember(bootstrap, topic, rest[0], number(rest[1]), config)
	case "admin":
		administer(bootstrap, topic, config)
	}
}

func produce(bootstrap []string, topic, codec string, config *sarama.Config) {
	config.Producer.Compression = codecs[codec]
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	config.Producer.Return.Successes = true
	producer, err := sarama.NewSyncProducer(bootstrap, config)
	must(err)
	defer producer.Close()
	var messages []*sarama.ProducerMessage
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var given record
		must(json.Unmarshal(lines.Bytes(), &given))
		made := &sarama.ProducerMessage{Topic: topic, Partition: given.Partition,
			Timestamp: time.UnixMilli(given.Timestamp)}
		if given.Key != nil {
			made.Key = sarama.StringEncoder(*given.Key)
		}
		if given.Value != nil {
			made.Value = sarama.StringEncoder(*given.Value)
		}
		for _, header := range given.Headers {
			made.Headers = append(made.Headers,
				sarama.RecordHeader{Key: []byte(header[0]), Value: []byte(header[1])})
		}
		messages = append(messages, made)
	}
	must(producer.SendMessages(messages))
	for _, each := range messages {
		must(output.Encode(record{Partition: each.Partition, Offset: each.Offset}))
	}
}

func consume(bootstrap []string, topic string, count int, config *sarama.Config) {
	consumer, err := sarama.NewConsumer(bootstrap, config)
	must(err)
	defer consumer.Close()
	partitions, err := consumer.Partitions(topic)
	must(err)
	all := make(chan *sarama.ConsumerMessage)
	for _, partition := range partitions {
		reading, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
		must(err)
		go func() {
			for message := range reading.Messages() {
				all <- message
			}
		}()
	}
	for seen := 0; seen < count; seen++ {
		show(<-all)
	}
}

type member struct {
	left   int
	cancel context.CancelFunc
}

func (*member) Setup(sarama.ConsumerGroupSession) error { return nil }

func (*member) Cleanup(session sarama.ConsumerGroupSession) error {
	session.Commit()
	return nil
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for m.left > 0 {
		select {
		case message, more := <-claim.Messages():
			if !more {
				return nil
			}
			show(message)
			session.MarkMessage(message, "")
			m.left--
		case <-session.Context().Done():
			return nil
		}
	}
	m.cancel()
	return nil
}

// The topic has one partition, so one claim counts alone.
func readAsMember(bootstrap []string, topic, group string, count int, config *sarama.Config) {
	config.Consumer.Offsets.AutoCommit.Enable = false
	joined, err := sarama.NewConsumerGroup(bootstrap, group, config)
	must(err)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	reader := &member{count, cancel}
	for reader.left > 0 && ctx.Err() == nil {
		must(joined.Consume(ctx, []string{topic}, reader))
	}
	must(joined.Close())
}

func administer(bootstrap []string, topic string, config *sarama.Config) {
	admin, err := sarama.NewClusterAdmin(bootstrap, config)
	must(err)
	defer admin.Close()
	retention := "3600000"
	must(admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 1,
		ConfigEntries: map[string]*string{"retention.ms": &retention}}, false))
	partitions := func() int {
		found, err := admin.DescribeTopics([]string{topic})
		must(err)
		return len(found[0].Partitions)
	}
	setting := func() string {
		found, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic,
			ConfigNames: []string{"retention.ms"}})
		must(err)
		return found[0].Value
	}
	told := map[string]any{"created": partitions(), "retention": setting()}
	retention = "7200000"
	must(admin.IncrementalAlterConfig(sarama.TopicResource, topic,
		map[string]sarama.IncrementalAlterConfigsEntry{
			"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &retention}}, false))
	told["altered"] = setting()
	must(admin.CreatePartitions(topic, 5, nil, false))
	told["grown"] = partitions()
	must(admin.DeleteTopic(topic))
	left, err := admin.ListTopics()
	must(err)
	_, isThere := left[topic]
	told["deleted"] = !isThere
	must(output.Encode(told))
}

func show(message *sarama.ConsumerMessage) {
	found := record{Partition: message.Partition, Offset: message.Offset, Key: text(message.Key),
		Value: text(message.Value), Timestamp: message.Timestamp.UnixMilli(), Headers: [][2]string{}}
	for _, header := range message.Headers {
		found.Headers = append(found.Headers, [2]string{string(header.Key), string(header.Value)})
	}
	must(output.Encode(found))
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
