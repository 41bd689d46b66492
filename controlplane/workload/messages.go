package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A broker is a service of the application that passes messages on. An endpoint of it is an exchange, and every call it
// makes from there is a queue of the service that it calls.
type broker struct {
	Address string             `json:"address"`
	Routes  map[string][]route `json:"routes"`
}

type route struct {
	Service       string `json:"service"`
	Endpoint      string `json:"endpoint"`
	ResponseBytes int    `json:"responseBytes"`
	Detached      bool   `json:"detached"`
}

func (r route) queue() string { return r.Service + "." + r.Endpoint }

const (
	retryAfter  = 500 * time.Millisecond
	connectWait = 2 * time.Second
	heartbeat   = 5 * time.Second
	prefetch    = 256
	replyTo     = "amq.rabbitmq.reply-to"
)

var (
	errLost   = errors.New("the connection to the broker was lost")
	errAbsent = errors.New("no connection to the broker")
)

// A messenger keeps one service connected with one broker: it publishes, and consumes what is for this service. Whoever comes
// first declares exchanges and queues, so that a message waits for its consumer rather than being dropped.
type messenger struct {
	service string
	config  broker
	handle  func(endpoint string) error
	ending  chan struct{}
	busy    sync.WaitGroup // queues that are read, and deliveries that are being handled

	lock    sync.Mutex
	current *connected
	changed chan struct{} // closed when current is set
}

// One connection, until it is lost.
type connected struct {
	connection *amqp.Connection
	plain      *amqp.Channel // published without waiting
	confirmed  *amqp.Channel // the broker says that it has the message; replies arrive here
	lost       chan struct{}
	number     atomic.Uint64
	lock       sync.Mutex
	awaited    map[string]chan struct{} // by correlation
}

func newMessenger(service string, config broker, handle func(string) error) *messenger {
	return &messenger{
		service: service, config: config, handle: handle, ending: make(chan struct{}), changed: make(chan struct{}),
	}
}

// run connects again whenever the connection is lost, until the service ends.
func (m *messenger) run() {
	for {
		select {
		case <-m.ending:
			return
		default:
		}
		made, err := m.connect()
		if err != nil {
			log.Printf("broker at %s: %v", m.config.Address, err)
			select {
			case <-m.ending:
				return
			case <-time.After(retryAfter):
			}
			continue
		}
		m.set(made)
		<-made.lost
		m.set(nil)
	}
}

func (m *messenger) set(made *connected) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.current = made
	if made != nil {
		close(m.changed)
	} else {
		m.changed = make(chan struct{})
	}
}

// get waits for a connection, but not for long: a service that is not there is not waited for over HTTP either.
func (m *messenger) get(ctx context.Context) (*connected, error) {
	patience := time.NewTimer(connectWait)
	defer patience.Stop()
	for {
		m.lock.Lock()
		current, changed := m.current, m.changed
		m.lock.Unlock()
		if current != nil {
			return current, nil
		}
		select {
		case <-changed:
		case <-patience.C:
			return nil, errAbsent
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (m *messenger) connect() (*connected, error) {
	url := fmt.Sprintf("amqp://guest:guest@%s/", m.config.Address)
	connection, err := amqp.DialConfig(url, amqp.Config{Heartbeat: heartbeat, Locale: "en_US"})
	if err != nil {
		return nil, err
	}
	made := &connected{connection: connection, lost: make(chan struct{}), awaited: map[string]chan struct{}{}}
	if err := m.open(made); err != nil {
		_ = connection.Close()
		return nil, err
	}
	closed := connection.NotifyClose(make(chan *amqp.Error, 1))
	go func() {
		<-closed
		close(made.lost)
	}()
	// A broker ends a channel that it was asked something wrong on; a new connection begins from what is declared.
	for _, channel := range []*amqp.Channel{made.plain, made.confirmed} {
		ended := channel.NotifyClose(make(chan *amqp.Error, 1))
		go func() {
			<-ended
			_ = connection.Close()
		}()
	}
	return made, nil
}

func (m *messenger) open(made *connected) error {
	var err error
	if made.plain, err = made.connection.Channel(); err != nil {
		return err
	}
	if made.confirmed, err = made.connection.Channel(); err != nil {
		return err
	}
	if err := made.confirmed.Confirm(false); err != nil {
		return err
	}
	if err := m.declare(made.plain); err != nil {
		return err
	}
	replies, err := made.confirmed.Consume(replyTo, "", true, false, false, false, nil)
	if err != nil {
		return err
	}
	go made.takeReplies(replies)
	return m.consume(made)
}

func (m *messenger) declare(channel *amqp.Channel) error {
	for exchange, routes := range m.config.Routes {
		if err := channel.ExchangeDeclare(exchange, amqp.ExchangeFanout, false, false, false, false, nil); err != nil {
			return err
		}
		for _, each := range routes {
			if _, err := channel.QueueDeclare(each.queue(), false, false, false, false, nil); err != nil {
				return err
			}
			if err := channel.QueueBind(each.queue(), "", exchange, false, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// consume takes from every queue of this service. A message is gone when it has been handled, not when it has been sent: what
// a pod did not finish goes to the next one.
func (m *messenger) consume(made *connected) error {
	taken := map[string]bool{}
	for _, routes := range m.config.Routes {
		for _, each := range routes {
			if each.Service != m.service || taken[each.queue()] {
				continue
			}
			taken[each.queue()] = true
			channel, err := made.connection.Channel()
			if err != nil {
				return err
			}
			if err := channel.Qos(prefetch, 0, false); err != nil {
				return err
			}
			deliveries, err := channel.Consume(each.queue(), each.queue(), false, false, false, false, nil)
			if err != nil {
				return err
			}
			m.busy.Go(func() { m.take(each, channel, deliveries) })
		}
	}
	return nil
}

func (m *messenger) take(from route, channel *amqp.Channel, deliveries <-chan amqp.Delivery) {
	for {
		select {
		case <-m.ending:
			_ = channel.Cancel(from.queue(), false)
			return
		case delivery, open := <-deliveries:
			if !open {
				return
			}
			m.busy.Go(func() { m.deliver(from, channel, delivery) })
		}
	}
}

func (m *messenger) deliver(from route, channel *amqp.Channel, delivery amqp.Delivery) {
	if err := m.handle(from.Endpoint); err != nil {
		log.Printf("%s: %v", from.queue(), err)
	}
	if !from.Detached && delivery.ReplyTo != "" {
		reply := amqp.Publishing{CorrelationId: delivery.CorrelationId, Body: make([]byte, from.ResponseBytes)}
		if err := channel.Publish("", delivery.ReplyTo, false, false, reply); err != nil {
			log.Printf("%s: reply: %v", from.queue(), err)
		}
	}
	_ = delivery.Ack(false)
}

// send publishes one call. A detached one is only written; of any other the broker says that it has it, and every service that
// it is passed on to synchronously has replied before the call is over.
func (m *messenger) send(ctx context.Context, one call) error {
	made, err := m.get(ctx)
	if err != nil {
		return err
	}
	message := amqp.Publishing{Body: make([]byte, one.RequestBytes)}
	if one.Detached {
		return made.plain.PublishWithContext(ctx, one.Endpoint, "", false, false, message)
	}
	replies := 0
	for _, each := range m.config.Routes[one.Endpoint] {
		if !each.Detached {
			replies++
		}
	}
	var arrived chan struct{}
	if replies > 0 {
		message.ReplyTo, message.CorrelationId = replyTo, strconv.FormatUint(made.number.Add(1), 10)
		arrived = made.await(message.CorrelationId, replies)
		defer made.forget(message.CorrelationId)
	}
	told, err := made.confirmed.PublishWithDeferredConfirmWithContext(ctx, one.Endpoint, "", false, false, message)
	if err != nil {
		return err
	}
	if err := made.wait(ctx, told.Done()); err != nil {
		return err
	}
	for range replies {
		if err := made.wait(ctx, arrived); err != nil {
			return err
		}
	}
	return nil
}

func (c *connected) wait(ctx context.Context, happened <-chan struct{}) error {
	select {
	case <-happened:
		return nil
	case <-c.lost:
		return errLost
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *connected) await(correlation string, replies int) chan struct{} {
	arrived := make(chan struct{}, replies)
	c.lock.Lock()
	defer c.lock.Unlock()
	c.awaited[correlation] = arrived
	return arrived
}

func (c *connected) forget(correlation string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	delete(c.awaited, correlation)
}

func (c *connected) takeReplies(replies <-chan amqp.Delivery) {
	for each := range replies {
		c.lock.Lock()
		arrived, known := c.awaited[each.CorrelationId]
		c.lock.Unlock()
		if known {
			select {
			case arrived <- struct{}{}:
			default: // more replies than the scenario has: nobody waits for them
			}
		}
	}
}

// end takes nothing more from the queues; what was taken is finished and told, then the connection is closed.
func (m *messenger) end() {
	close(m.ending)
	m.busy.Wait()
	m.lock.Lock()
	current := m.current
	m.lock.Unlock()
	if current != nil {
		_ = current.connection.Close()
	}
}
