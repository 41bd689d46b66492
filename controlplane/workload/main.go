// Package main plays one service of a scenario for real: it burns the CPU it is told, calls its peers stage by stage, and
// answers with as many bytes as the scenario says.
//
// Its role is the environment variable SERVICE; the application is the JSON file of CONFIG. Peers are reached at the
// addresses of the file's "peers" (a sidecar's listeners, or Services by name), brokers at those of its "brokers", over AMQP.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

type application struct {
	Services map[string]service `json:"services"`
	Peers    map[string]string  `json:"peers"`
	Brokers  map[string]broker  `json:"brokers"`
}

type service struct {
	StartupSeconds float64             `json:"startupSeconds"`
	Endpoints      map[string]endpoint `json:"endpoints"`
}

type endpoint struct {
	CPUSeconds float64  `json:"cpuSeconds"`
	Constant   bool     `json:"constant"`
	Stages     [][]call `json:"stages"`
}

type call struct {
	Service       string  `json:"service"`
	Endpoint      string  `json:"endpoint"`
	NewConnection bool    `json:"newConnection"`
	Probability   float64 `json:"probability"`
	Count         int     `json:"count"`
	RequestBytes  int     `json:"requestBytes"`
	ResponseBytes int     `json:"responseBytes"`
	Detached      bool    `json:"detached"`
}

func main() {
	read, err := os.ReadFile(os.Getenv("CONFIG"))
	if err != nil {
		log.Fatal(err)
	}
	var app application
	if err := json.Unmarshal(read, &app); err != nil {
		log.Fatal(err)
	}
	name := os.Getenv("SERVICE")
	role, known := app.Services[name]
	if !known {
		log.Fatalf("the application has no service %q", name)
	}
	started := time.Now()
	serving := newServer(role, app.Peers)
	for each, config := range app.Brokers {
		serving.messengers[each] = newMessenger(name, config, serving.play)
	}
	for _, each := range serving.messengers {
		go each.run()
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(answer http.ResponseWriter, _ *http.Request) {
		if time.Since(started).Seconds() < role.StartupSeconds {
			http.Error(answer, "starting", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/call/{endpoint}", serving.answer)
	server := &http.Server{Addr: ":8080", Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go stopOnSignal(server, serving)
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		log.Fatal(err)
	}
	serving.detached.Wait()
	for _, each := range serving.messengers {
		each.end()
	}
}

// stopOnSignal keeps serving for a while, so that routers notice before connections are refused, then drains. Until then every
// answer ends its connection: a sidecar that keeps them goes elsewhere with its next request, and none meets a closing one.
func stopOnSignal(listening *http.Server, serving *server) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	<-signals
	serving.ending.Store(true)
	time.Sleep(4 * time.Second)
	ending, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_ = listening.Shutdown(ending)
}
