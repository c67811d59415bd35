import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { queryClient } from '../api/query-client.js';
import { meQuery } from '../api/session.js';
import { NotFound, PageFailure } from '../components/failure.js';
import { SignInPage } from '../pages/sign-in/sign-in-page.js';

const root = createRootRoute({ component: Outlet });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: ({ next }: Record<string, unknown>): { next?: string } =>
    typeof next === 'string' && next.startsWith('/') && !next.startsWith('//') ? { next } : {},
  component: SignInPage,
});

/** All pages of those who are signed in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  beforeLoad: async ({ location }) => {
    const me = await queryClient.fetchQuery(meQuery);
    if (!me) throw redirect({ to: '/sign-in', search: location.pathname === '/' ? {} : { next: location.pathname } });
  },
  component: lazyRouteComponent(() => import('./shell/shell.js'), 'Shell'),
});

const home = createRoute({
  getParentRoute: () => inside,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/devices' });
  },
});

const devices = createRoute({
  getParentRoute: () => inside,
  path: '/devices',
  component: lazyRouteComponent(() => import('../pages/devices/devices-page.js'), 'DevicesPage'),
});

const device = createRoute({
  getParentRoute: () => inside,
  path: '/devices/$device',
  component: lazyRouteComponent(() => import('../pages/devices/device-page.js'), 'DevicePage'),
});

const tokens = createRoute({
  getParentRoute: () => inside,
  path: '/settings/api',
  component: lazyRouteComponent(() => import('../pages/settings/tokens-page.js'), 'TokensPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([signIn, inside.addChildren([home, devices, device, tokens])]),
  basepath: '/console',
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: PageFailure,
  defaultNotFoundComponent: NotFound,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
