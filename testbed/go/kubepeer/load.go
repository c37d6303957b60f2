package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// raw asks an API server without looking into its answers, so that the server is what is measured.
type raw struct {
	client     *http.Client
	collection string
}

func rawFor(chosen options) (raw, error) {
	config, err := clientcmd.BuildConfigFromFlags("", chosen.kubeconfig)
	if err != nil {
		return raw{}, err
	}
	client, err := rest.HTTPClientFor(config)
	collection := fmt.Sprintf("%s/api/v1/namespaces/%s/%s", config.Host, chosen.namespace, chosen.resource)
	return raw{client: client, collection: collection}, err
}

func (r raw) answer(ctx context.Context, address string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	answer, err := r.client.Do(request)
	if err == nil && answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, fmt.Errorf("%s: %s", address, answer.Status)
	}
	return answer, err
}

// got reads objects one by one, so many in all; they are called as bench/shapes.py calls them.
func (r raw) got(count, objects int64, workers int) task {
	return func(ctx context.Context) (int64, error) {
		var next atomic.Int64
		return count, atOnce(workers, func() error {
			for number := next.Add(1) - 1; number < count; number = next.Add(1) - 1 {
				answer, err := r.answer(ctx, fmt.Sprintf("%s/config-%05d", r.collection, number%objects))
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// fanned lets many watchers hear so many events each: those since a version, and those that writing brings.
func (r raw) fanned(since string, count int64, watchers int, write task) task {
	return func(ctx context.Context) (int64, error) {
		var open sync.WaitGroup
		open.Add(watchers)
		written := make(chan error, 1)
		go func() {
			open.Wait()
			_, err := write(ctx)
			written <- err
		}()
		err := atOnce(watchers, func() error { return r.heard(ctx, since, count, open.Done) })
		return count * int64(watchers), errors.Join(err, <-written)
	}
}

// heard watches, says when it does so, and counts events. A server may leave a watcher who is slow; as any
// client, it then goes on after what it heard last.
func (r raw) heard(ctx context.Context, since string, count int64, opened func()) error {
	opened = sync.OnceFunc(opened)
	defer opened()
	for heard := int64(0); heard < count; {
		more, last, err := r.listened(ctx, since, count-heard, opened)
		heard += more
		if more == 0 || (err != nil && !errors.Is(err, io.EOF)) {
			return fmt.Errorf("the watch ended after %d events: %w", heard, err)
		}
		since = versionIn(last)
	}
	return nil
}

// listened opens one watch, says so, and counts its events, which are lines, to its end; it also tells the
// last one.
func (r raw) listened(ctx context.Context, since string, count int64, opened func()) (int64, []byte, error) {
	query := url.Values{"watch": {"1"}, "resourceVersion": {since}}
	answer, err := r.answer(ctx, r.collection+"?"+query.Encode())
	if err != nil {
		return 0, nil, err
	}
	opened()
	defer answer.Body.Close()
	lines := bufio.NewReaderSize(answer.Body, 1<<16)
	var last []byte
	for heard := int64(0); ; heard++ {
		if heard == count {
			return heard, last, nil
		}
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return heard, last, err
		}
		last = append(last[:0], line...)
	}
}

func versionIn(event []byte) string {
	const field = `"resourceVersion":"`
	_, rest, _ := bytes.Cut(event, []byte(field))
	version, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(version)
}

func atOnce(workers int, work func() error) error {
	failures := make([]error, workers)
	var room sync.WaitGroup
	for worker := range workers {
		room.Go(func() { failures[worker] = work() })
	}
	room.Wait()
	return errors.Join(failures...)
}

func prepareLoad(verb string, collection dynamic.ResourceInterface, chosen options) (task, error) {
	reader, err := rawFor(chosen)
	if err != nil {
		return nil, err
	}
	if verb == "get" {
		return reader.got(chosen.count, chosen.objects, chosen.workers), nil
	}
	nothing := func(context.Context) (int64, error) { return 0, nil }
	if chosen.manifests == "" {
		return reader.fanned(chosen.since, chosen.count, chosen.watchers, nothing), nil
	}
	write, err := applied(collection, chosen.manifests, chosen.workers)
	return reader.fanned(chosen.since, chosen.count, chosen.watchers, write), err
}
