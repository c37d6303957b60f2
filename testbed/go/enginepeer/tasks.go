package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/engine"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

func newCache(config *rest.Config, marked bool, log logr.Logger) cache.ClusterCache {
	settings := []cache.UpdateSettingsFunc{cache.SetLogr(log)}
	if marked {
		settings = append(settings, cache.SetPopulateResourceInfoHandler(
			func(object *unstructured.Unstructured, _ bool) (any, bool) {
				claimed := object.GetAnnotations()[mark]
				return claimed, claimed != ""
			}))
	}
	return cache.NewClusterCache(config, settings...)
}

func filled(objects cache.ClusterCache) task {
	return func(context.Context) (int64, error) {
		err := objects.EnsureSynced()
		return int64(len(objects.FindResources(""))), err
	}
}

func stormed(objects cache.ClusterCache, count int64) (task, error) {
	if count < 1 {
		return nil, errors.New("say how many events with -count")
	}
	if err := objects.EnsureSynced(); err != nil {
		return nil, err
	}
	var heard atomic.Int64
	enough := make(chan struct{})
	objects.OnEvent(func(watch.EventType, *unstructured.Unstructured) {
		if heard.Add(1) == count {
			close(enough)
		}
	})
	// Whoever makes the changes waits for this line.
	fmt.Fprintln(os.Stderr, "ready")
	return func(ctx context.Context) (int64, error) {
		select {
		case <-enough:
			return heard.Load(), nil
		case <-ctx.Done():
			return heard.Load(), fmt.Errorf("heard only %d events: %w", heard.Load(), ctx.Err())
		}
	}, nil
}

type pair struct {
	Desired *unstructured.Unstructured `json:"desired"`
	Live    *unstructured.Unstructured `json:"live"`
}

func compared(objects cache.ClusterCache, chosen options, log logr.Logger) (task, error) {
	pairs, err := linesOf[pair](chosen.pairs)
	if err != nil {
		return nil, err
	}
	if err := objects.EnsureSynced(); err != nil {
		return nil, err
	}
	how := []diff.Option{diff.WithLogr(log), diff.WithManager("trimtab")}
	if !chosen.threeWay {
		how = append(how, diff.WithStructuredMergeDiff(true), diff.WithGVKParser(objects.GetGVKParser()))
	}
	return func(context.Context) (int64, error) {
		var done int64
		for range chosen.rounds {
			for _, each := range pairs {
				if _, err := diff.Diff(each.Desired, each.Live, how...); err != nil {
					return done, err
				}
				done++
			}
		}
		return done, nil
	}, nil
}

func synced(ctx context.Context, config *rest.Config, chosen options, log logr.Logger) (task, error) {
	wanted, err := linesOf[unstructured.Unstructured](chosen.manifests)
	if err != nil {
		return nil, err
	}
	objects := newCache(config, true, log)
	runner := engine.NewEngine(config, objects, engine.WithLogr(log))
	if _, err := runner.Run(); err != nil {
		return nil, err
	}
	once := func(ctx context.Context) (int64, error) {
		// The engine keeps and changes what it is given: every sync gets copies.
		var targets []*unstructured.Unstructured
		for _, each := range wanted {
			targets = append(targets, each.DeepCopy())
		}
		results, err := runner.Sync(ctx, targets, isManaged, "bench", chosen.namespace,
			sync.WithManifestValidation(chosen.validate), sync.WithServerSideApply(chosen.serverSide),
			sync.WithServerSideApplyManager("gitops-engine"), sync.WithPrune(true), sync.WithLogr(log))
		return succeeded(results, err)
	}
	if chosen.again {
		if _, err := once(ctx); err != nil {
			return nil, err
		}
	}
	return once, nil
}

func isManaged(object *cache.Resource) bool {
	claimed, isText := object.Info.(string)
	return isText && claimed != ""
}

func succeeded(results []common.ResourceSyncResult, err error) (int64, error) {
	var count int64
	for _, each := range results {
		if each.Status == common.ResultCodeSynced {
			count++
		} else if err == nil {
			err = fmt.Errorf("%s: %s: %s", each.ResourceKey.String(), each.Status, each.Message)
		}
	}
	return count, err
}

func linesOf[T any](path string) ([]*T, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var found []*T
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		each := new(T)
		if err := json.Unmarshal(lines.Bytes(), each); err != nil {
			return nil, err
		}
		found = append(found, each)
	}
	return found, lines.Err()
}
