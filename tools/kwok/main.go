// Command karpenter runs Karpenter's controllers with the kwok provider for end-to-end tests. Its metrics and health ports listen on
// loopback only.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/operator"
)

const loopback = "127.0.0.1"

// onLoopback wraps the manager's constructor, which otherwise listens on every interface.
func onLoopback(next func(*rest.Config, manager.Options) (manager.Manager, error)) func(*rest.Config, manager.Options) (manager.Manager, error) {
	return func(cfg *rest.Config, opts manager.Options) (manager.Manager, error) {
		opts.HealthProbeBindAddress = loopback + opts.HealthProbeBindAddress
		opts.Metrics.BindAddress = loopback + opts.Metrics.BindAddress
		return next(cfg, opts)
	}
}

// lingering is a provider whose instances take their time to end, as those of a cloud do.
type lingering struct {
	cloudprovider.CloudProvider
	end   time.Duration
	asked sync.Map
}

// Delete says that an instance is gone once it has had its time.
func (l *lingering) Delete(ctx context.Context, claim *v1.NodeClaim) error {
	since, _ := l.asked.LoadOrStore(claim.Status.ProviderID, time.Now())
	if time.Since(since.(time.Time)) < l.end {
		return nil
	}
	return l.CloudProvider.Delete(ctx, claim)
}

func main() {
	ctrl.NewManager = onLoopback(ctrl.NewManager)
	ctx, op := operator.NewOperator()
	kube := op.GetClient()
	types, err := kwok.ConstructInstanceTypes(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "instance types:", err)
		os.Exit(1)
	}
	var base cloudprovider.CloudProvider = kwok.NewCloudProvider(ctx, kube, types)
	if text := os.Getenv("INSTANCE_END"); text != "" {
		end, err := time.ParseDuration(text)
		if err != nil {
			fmt.Fprintln(os.Stderr, "INSTANCE_END:", err)
			os.Exit(1)
		}
		base = &lingering{CloudProvider: base, end: end}
	}
	provider := overlay.Decorate(base, kube, op.InstanceTypeStore)
	op.WithControllers(ctx, assembled(ctx, op, provider, base)...).Start(ctx)
}
