<?php

/**
 * Routing of requests to what handles them.
 */

declare(strict_types=1);

namespace App\Routing;

use App\Other;

const LIMIT = 10;

/**
 * Routes requests.
 */
#[Final]
class Router extends Base implements Routes
{
    public const FOUND = 1;

    private array $routes = [];

    /** Adds a route. */
    public function add(string $path, callable $handler): void
    {
        $this->routes[$path] = $handler;
    }

    private $late = 1;
}

interface Routes
{
    public function add(string $path, callable $handler): void;
}

trait Logs
{
}

function helper(): int
{
    return 1;
}

$router = new Router();
$router->add('/', 'helper');
