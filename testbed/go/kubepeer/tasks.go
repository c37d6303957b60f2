package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

const manager = "bench"

func listed(collection dynamic.ResourceInterface, pageSize int64) task {
	return func(ctx context.Context) (int64, error) {
		var objects []unstructured.Unstructured
		following := ""
		for {
			page, err := collection.List(ctx, metav1.ListOptions{Limit: pageSize, Continue: following})
			if err != nil {
				return 0, err
			}
			objects = append(objects, page.Items...)
			if following = page.GetContinue(); following == "" {
				return int64(len(objects)), nil
			}
		}
	}
}

func synced(client dynamic.Interface, kind schema.GroupVersionResource, namespace string) task {
	return func(ctx context.Context) (int64, error) {
		return filled(ctx, dynamicinformer.NewFilteredDynamicInformer(client, kind, namespace, 0, nil, nil).Informer())
	}
}

func filled(ctx context.Context, informer cache.SharedIndexInformer) (int64, error) {
	go informer.RunWithContext(ctx)
	if !cache.WaitFor(ctx, "", informer.HasSyncedChecker()) { // the older way to wait looks every 100 ms
		return 0, fmt.Errorf("the informer did not sync: %w", context.Cause(ctx))
	}
	return int64(len(informer.GetStore().ListKeys())), nil
}

func watched(collection dynamic.ResourceInterface, since string, count int64) task {
	return func(ctx context.Context) (int64, error) {
		events, err := collection.Watch(ctx, metav1.ListOptions{ResourceVersion: since, AllowWatchBookmarks: true})
		if err != nil {
			return 0, err
		}
		defer events.Stop()
		heard := int64(0)
		for event := range events.ResultChan() {
			switch event.Type {
			case watch.Bookmark:
				continue
			case watch.Error:
				return 0, fmt.Errorf("the watch failed: %v", event.Object)
			}
			if heard++; heard == count {
				return heard, nil
			}
		}
		return 0, fmt.Errorf("the watch ended after %d events", heard)
	}
}

// unstreamed makes an informer list everything at once and then watch, as all did before client-go 0.35.
type unstreamed struct{ *cache.ListWatch }

func (unstreamed) IsWatchListSemanticsUnSupported() bool { return true }

func syncedAtOnce(collection dynamic.ResourceInterface) task {
	return func(ctx context.Context) (int64, error) {
		return filled(ctx, cache.NewSharedIndexInformer(unstreamed{&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, asked metav1.ListOptions) (runtime.Object, error) {
				return collection.List(ctx, asked)
			},
			WatchFuncWithContext: collection.Watch,
		}}, &unstructured.Unstructured{}, 0, cache.Indexers{}))
	}
}

func replayed(collection dynamic.ResourceInterface, since string, count int64) task {
	return func(ctx context.Context) (int64, error) {
		empty := &unstructured.UnstructuredList{} // as the collection was then; what happened since is watched
		empty.SetResourceVersion(since)
		source := unstreamed{&cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return empty.DeepCopy(), nil
			},
			WatchFuncWithContext: collection.Watch,
		}}
		informer := cache.NewSharedIndexInformer(source, &unstructured.Unstructured{}, 0, cache.Indexers{})
		var heard atomic.Int64
		done := make(chan struct{})
		note := func() {
			if heard.Add(1) == count {
				close(done)
			}
		}
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { note() },
			UpdateFunc: func(any, any) { note() },
			DeleteFunc: func(any) { note() },
		})
		if err != nil {
			return 0, err
		}
		go informer.RunWithContext(ctx)
		select {
		case <-done:
			return count, nil
		case <-ctx.Done():
			return 0, fmt.Errorf("heard %d events: %w", heard.Load(), context.Cause(ctx))
		}
	}
}

func applied(collection dynamic.ResourceInterface, file string, workers int) (task, error) {
	manifests, err := manifestsIn(file)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (int64, error) {
		waiting := make(chan *unstructured.Unstructured)
		var room sync.WaitGroup
		failures := make([]error, workers)
		var done atomic.Int64
		for worker := range workers {
			room.Go(func() {
				for manifest := range waiting {
					if failures[worker] == nil {
						failures[worker] = apply(ctx, collection, manifest)
						done.Add(1)
					}
				}
			})
		}
		for _, manifest := range manifests {
			waiting <- manifest
		}
		close(waiting)
		room.Wait()
		return done.Load(), errors.Join(failures...)
	}, nil
}

func apply(ctx context.Context, collection dynamic.ResourceInterface, manifest *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err := collection.Apply(
		ctx, manifest.GetName(), manifest, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}

func manifestsIn(path string) ([]*unstructured.Unstructured, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var manifests []*unstructured.Unstructured
	for decoder := json.NewDecoder(file); ; {
		var decoded map[string]any
		err := decoder.Decode(&decoded)
		if errors.Is(err, io.EOF) {
			return manifests, nil
		}
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, &unstructured.Unstructured{Object: decoded})
	}
}
