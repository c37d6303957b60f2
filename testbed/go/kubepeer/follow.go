package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// followed prints what an informer keeps, a line of names with their versions whenever that changes, until its
// standard input ends.
func followed(ctx context.Context, client dynamic.Interface, kind schema.GroupVersionResource, namespace string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	informer := dynamicinformer.NewFilteredDynamicInformer(client, kind, namespace, 0, nil, nil).Informer()
	changed := make(chan struct{}, 1)
	note := func() {
		select {
		case changed <- struct{}{}:
		default: // whoever prints looks at everything anyway
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { note() },
		UpdateFunc: func(any, any) { note() },
		DeleteFunc: func(any) { note() },
	})
	if err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
		return errors.New("the informer did not sync")
	}
	for {
		if err := json.NewEncoder(os.Stdout).Encode(kept(informer)); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func kept(informer cache.SharedIndexInformer) map[string]string {
	versions := map[string]string{}
	for _, each := range informer.GetStore().List() {
		if found, ok := each.(*unstructured.Unstructured); ok {
			versions[found.GetName()] = found.GetResourceVersion()
		}
	}
	return versions
}
