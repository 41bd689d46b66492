package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	callTimeout = 60 * time.Second
	mostBytes   = 64 << 20
)

var errUnknown = errors.New("no such endpoint")

type server struct {
	role     service
	peers    map[string]string
	kept     *http.Client
	fresh    *http.Client
	detached sync.WaitGroup
	ending   atomic.Bool

	messengers map[string]*messenger // by the broker's name
}

func newServer(role service, peers map[string]string) *server {
	kept := &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second}
	fresh := &http.Transport{DisableKeepAlives: true}
	return &server{
		role:  role,
		peers: peers,
		kept:  &http.Client{Transport: kept, Timeout: callTimeout},
		fresh: &http.Client{Transport: fresh, Timeout: callTimeout},

		messengers: map[string]*messenger{},
	}
}

// answer plays one request and answers with the bytes that were asked for.
func (s *server) answer(answer http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, io.LimitReader(request.Body, mostBytes))
	err := s.play(request.PathValue("endpoint"))
	if s.ending.Load() {
		answer.Header().Set("Connection", "close")
	}
	if errors.Is(err, errUnknown) {
		http.Error(answer, err.Error(), http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(answer, err.Error(), http.StatusBadGateway)
		return
	}
	size, _ := strconv.Atoi(request.Header.Get("X-Response-Bytes"))
	answer.Header().Set("Content-Length", strconv.Itoa(min(max(size, 0), mostBytes)))
	_, _ = answer.Write(make([]byte, min(max(size, 0), mostBytes)))
}

// play spends the endpoint's CPU first, then runs its stages one after the other.
func (s *server) play(endpoint string) error {
	asked, known := s.role.Endpoints[endpoint]
	if !known {
		return errUnknown
	}
	demand := asked.CPUSeconds
	if !asked.Constant {
		demand *= rand.ExpFloat64()
	}
	burn(demand)
	for _, stage := range asked.Stages {
		if err := s.run(stage); err != nil {
			return err
		}
	}
	return nil
}

// run makes the calls of one stage in parallel and waits for all that are not detached.
func (s *server) run(stage []call) error {
	failed := make(chan error, len(stage))
	waiting := 0
	for _, one := range stage {
		if rand.Float64() >= one.Probability {
			continue
		}
		if one.Detached {
			s.detached.Go(func() { _ = s.repeat(one) })
			continue
		}
		waiting++
		go func() { failed <- s.repeat(one) }()
	}
	var first error
	for range waiting {
		if err := <-failed; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (s *server) repeat(one call) error {
	for range max(one.Count, 1) {
		if err := s.call(one); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) call(one call) error {
	if messenger, known := s.messengers[one.Service]; known {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		return messenger.send(ctx, one)
	}
	address, known := s.peers[one.Service]
	if !known {
		return fmt.Errorf("no address for %s", one.Service)
	}
	url := fmt.Sprintf("http://%s/call/%s", address, one.Endpoint)
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(make([]byte, one.RequestBytes)))
	if err != nil {
		return err
	}
	request.Header.Set("X-Response-Bytes", strconv.Itoa(one.ResponseBytes))
	client := s.kept
	if one.NewConnection {
		client = s.fresh
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", one.Service, answer.Status)
	}
	return nil
}
