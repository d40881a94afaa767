package main

import (
	"context"
	"fmt"
	"os"

	"github.com/awslabs/operatorpkg/controller"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/node/health"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator"
)

// assembled puts the controllers together as Karpenter 1.15 wants it.
func assembled(ctx context.Context, op *operator.Operator, provider, base cloudprovider.CloudProvider) []controller.Controller {
	policies, err := health.NewRepairPolicyMatcher(ctx, provider)
	if err != nil {
		fmt.Fprintln(os.Stderr, "repair policies:", err)
		os.Exit(1)
	}
	cluster := state.NewCluster(op.Clock, op.GetClient(), provider, state.WithRepairPolicyMatcher(policies))
	return controllers.NewControllers(ctx, op.Manager, op.Clock, op.GetClient(), op.EventRecorder, provider, base, cluster, op.InstanceTypeStore, op.PredictionStore)
}
